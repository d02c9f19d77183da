"""Training that is killed ten times: at step 0, at epoch ends, in validations, saves and rotations, and at random."""

import random
import signal
from pathlib import Path
from typing import Final

from tests.torture.a1_kill_and_resume import PROCESSES
from tests.torture.figures import Measured
from tests.torture.recorded_run import Place, consumed, train
from tests.training.toy import new_run, trace

ID: Final = "A2"
FIGURE: Final = (
    "a run killed 10 times, also at step 0, at an epoch's end, in validation, save and rotation: byte-identical, and "
    "the list of consumed documents equal"
)
NIGHT: Final = 20
QUICK: Final = 1
_PLACES: tuple[Place, ...] = ("epoch end", "evaluation", "save", "rotation", *("anywhere",) * 5)
_KILLS = 1 + len(_PLACES)
_STEPS = 300
_FEW_STEPS = 48


def measure(count: int, folder: Path) -> Measured:
    """Kill each of `count` runs ten times, then let it end."""
    steps = _STEPS if count > QUICK else _FEW_STEPS
    whole = new_run(folder / "uninterrupted")
    _continue(whole, steps)
    expected, documents = trace(whole), consumed(whole)
    same = kills = 0
    for number in range(count):
        draw = random.Random(number)
        run = new_run(folder / str(number))
        for place in ("step 0", *draw.sample(_PLACES, len(_PLACES))):
            kills += _continue(run, steps, place, draw.randrange(2**32))
        _continue(run, steps)
        same += trace(run) == expected and consumed(run) == documents and len(documents) == steps
    total = sum(map(len, documents))
    text = f"{same:,} of {count:,} runs of {total:,} batches identical after {kills:,} kills"
    return Measured(text, same == count and kills == _KILLS * count, count)


def _continue(run: Path, steps: int, place: Place = "nowhere", seed: int = 0) -> bool:
    """Start or resume a run in a process of its own, and return whether it was killed."""
    process = PROCESSES.Process(target=train, args=(run, steps, place, seed))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0
