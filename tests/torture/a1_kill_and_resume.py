"""Training that is killed at a random moment, every second time within a save, and resumed."""

import multiprocessing
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

import torch

from sumpool.training.fit import fit
from tests.torture.figures import Measured
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace

ID: Final = "A1"
FIGURE: Final = "kill -9 and resume: weights, optimizer, random state and metrics byte-identical"
NIGHT: Final = 200
QUICK: Final = 1
_STEPS = 300
_FEW_STEPS = 24
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch._dynamo", "tests.training.toy"])


def measure(count: int, folder: Path) -> Measured:
    """Kill and resume `count` runs."""
    steps = _STEPS if count > QUICK else _FEW_STEPS
    expected, seconds = uninterrupted(folder, steps)
    same = 0
    for number in range(count):
        draw = random.Random(number)
        run = new_run(folder / str(number))
        process = start(run, steps)
        if number % 2:
            step = CONFIG.checkpoint_every * draw.randint(1, steps // CONFIG.checkpoint_every)
            wait_until((run / "checkpoints" / f".tmp-step-{step:08d}").exists, process)
            time.sleep(draw.uniform(0, 0.004))
        else:
            time.sleep(draw.uniform(0, seconds))
        kill(process)
        resumed = start(run, steps)
        resumed.join()
        same += trace(run) == expected
    return Measured(f"{same:,} of {count:,} runs of {steps} steps identical", same == count, count)


def train(run: Path, steps: int) -> None:
    """Start or resume a run; for a process of its own."""
    torch.set_num_threads(1)
    fit(new_model(), CONFIG.model_copy(update={"steps": steps}), DATA, run)


def start(run: Path, steps: int) -> BaseProcess:
    """Start or resume a run in a process."""
    process = PROCESSES.Process(target=train, args=(run, steps))
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    """Kill a process and wait for its end."""
    process.kill()
    process.join()


def wait_until(condition: Callable[[], bool], process: BaseProcess) -> None:
    """Wait for a condition, or the end of the process."""
    while process.is_alive() and not condition():
        time.sleep(0.0005)


def uninterrupted(folder: Path, steps: int) -> tuple[dict[str, str], float]:
    """Return the content of an uninterrupted run, and its seconds without the start of the fork server."""
    for name in ("first", "uninterrupted"):
        run = new_run(folder / name)
        begin = time.monotonic()
        start(run, steps).join()
    return trace(run), time.monotonic() - begin
