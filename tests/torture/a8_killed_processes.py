"""Training in two processes by torchrun: one of them, the launcher, or all are killed at a random moment.

torchrun starts the processes again after the end of one; after that of the launcher, the same command goes on.
`python -m tests.torture.a8_killed_processes RUN STEPS PARALLEL` is the command of each process; every second run is
sharded.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import torch

from sumpool.training.fit import fit
from sumpool.training.journal import JOURNAL
from sumpool.training.processes import join_processes
from tests.torture.figures import Measured, start, status, wait, wait_for_lines
from tests.training.several import Training, kill_one, run_training
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace

ID: Final = "A8"
FIGURE: Final = "kill -9 of a process, of torchrun or of all in a training of two: goes on, files byte-identical"
NIGHT: Final = 10
QUICK: Final = 1
_STEPS = 100
_FEW_STEPS = 12
_VICTIMS = ("process 0", "process 1", "launcher", "all")
_PARALLEL = ("ddp", "fsdp")
_SECONDS = 300
_SURVIVAL_SECONDS = 10
"""Seconds in which the processes end after their launcher."""


def measure(count: int, folder: Path) -> Measured:
    """Kill `count` runs; a small count kills processes that no launcher has started."""
    if count <= QUICK:
        return _measure_without_launcher(folder)
    expected = {parallel: new_run(folder / f"uninterrupted-{parallel}") for parallel in _PARALLEL}
    for parallel, run in expected.items():
        assert _launch(run, parallel).wait(_SECONDS) == 0
    same, killed = 0, dict.fromkeys(_VICTIMS, 0)
    for number in range(count):
        draw, victim = random.Random(number), _VICTIMS[number % len(_VICTIMS)]
        run, parallel = new_run(folder / str(number)), _PARALLEL[number // 2 % 2]
        launcher = _launch(run, parallel)
        wait_for_lines(run / JOURNAL, draw.randint(1, _STEPS - 20), launcher, _SECONDS)
        time.sleep(draw.uniform(0, 0.05))
        killed[victim] += launcher.poll() is None
        workers = [int((folder / f"{number}-{rank}.pid").read_text()) for rank in range(2)]
        for process in {"launcher": [launcher.pid], "all": [launcher.pid, *workers]}.get(victim) or [
            workers[int(victim[-1])]
        ]:
            os.kill(process, signal.SIGKILL)
        if victim in ("launcher", "all"):
            launcher.wait()
            wait(partial(_have_ended, workers), _SURVIVAL_SECONDS)
            launcher = _launch(run, parallel)
        ended = launcher.wait(_SECONDS) == 0
        same += ended and trace(run) == trace(expected[parallel])
    kills = ", ".join(f"{times} of {victim}" for victim, times in killed.items())
    is_met = same == count == sum(killed.values())
    return Measured(f"{same} of {count} runs of {_STEPS} steps identical after kills: {kills}", is_met, count)


def main(run: Path, steps: int, parallel: str) -> None:
    """Train in one of the processes."""
    torch.set_num_threads(1)
    (run.parent / f"{run.name}-{os.environ['RANK']}.pid").write_text(str(os.getpid()))
    with join_processes("cpu"):
        fit(new_model(), CONFIG.model_copy(update={"steps": steps, "parallel": parallel}), DATA, run)


def _measure_without_launcher(folder: Path) -> Measured:
    training = Training(
        2, CONFIG.model_copy(update={"steps": _FEW_STEPS, "parallel": "fsdp"}), torch.float32, dropout=0.1
    )
    expected, run = new_run(folder / "uninterrupted"), new_run(folder / "run")
    run_training(training, expected)
    kill_one(training, run, rank=1, step=_FEW_STEPS // 2)
    run_training(training, run)
    for path in folder.glob("*/documents-*"):
        path.unlink()
    same = trace(run) == trace(expected)
    return Measured(f"{same:d} of 1 run identical", same, 1)


def _launch(run: Path, parallel: str) -> subprocess.Popen[str]:
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "3", "--standalone")
    return start(*torchrun, "-m", __spec__.name, str(run), str(_STEPS), parallel)


def _have_ended(processes: Sequence[int]) -> bool:
    return all(status(process, "State") in ("", "Z", "X") for process in processes)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
