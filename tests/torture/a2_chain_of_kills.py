"""Training that is killed ten times: at its start, within saves, validations and rotations, and at random moments."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.torture.a1_kill_and_resume import kill, start, uninterrupted, wait_until
from tests.torture.figures import Measured
from tests.training.toy import CONFIG, new_run, trace

ID: Final = "A2"
FIGURE: Final = "a run killed 10 times is byte-identical; every step once and in order"
NIGHT: Final = 20
QUICK: Final = 1
_KILLS = 10
_STEPS = 300
_FEW_STEPS = 24


def measure(count: int, folder: Path) -> Measured:
    """Kill each of `count` runs ten times, then let it end."""
    steps = _STEPS if count > QUICK else _FEW_STEPS
    expected, seconds = uninterrupted(folder, steps)
    same = kills = 0
    for number in range(count):
        draw = random.Random(number)
        run = new_run(folder / str(number))
        for place in draw.sample(range(_KILLS), _KILLS):
            process = start(run, steps)
            wait_until(_moment(run, place, draw.uniform(0, 2 * seconds / _KILLS)), process)
            kills += process.is_alive()
            kill(process)
        start(run, steps).join()
        same += trace(run) == expected and _steps(run) == list(range(1, steps + 1))
    return Measured(f"{same:,} of {count:,} runs identical after {kills:,} kills", same == count, count)


def _moment(run: Path, place: int, seconds: float) -> Callable[[], bool]:
    """Return whether the moment of a kill has come."""
    begin = time.monotonic()
    checkpoints = run / "checkpoints"
    conditions: list[Callable[[], bool]] = [
        lambda: True,  # step 0, or before the checkpoint is read
        lambda: any(checkpoints.glob(".tmp-*")),  # within a save
        lambda: len(list(checkpoints.glob("step-*"))) > CONFIG.keep + 1,  # before the rotation
        lambda: bool(done := _steps(run)) and done[-1] % CONFIG.validate_every == 0,  # within a validation
    ]
    return conditions[place] if place < len(conditions) else lambda: time.monotonic() - begin > seconds


def _steps(run: Path) -> list[int]:
    """Return the steps in the metrics log; without a line that is being written."""
    path = run / "metrics.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [record["step"] for line in lines if (record := json.loads(line))["kind"] == "step"]
