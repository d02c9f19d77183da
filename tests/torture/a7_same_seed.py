"""Runs of the same seed in other processes, with another hash seed and working directory, and with two threads."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import torch

from sumpool.training.fit import fit
from tests.torture.figures import ROOT, Measured, exit_code_of
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace

ID: Final = "A7"
FIGURE: Final = "same seed, other hash seed and directory: identical files; two threads: losses within 1e-5"
NIGHT: Final = 10
QUICK: Final = 1
_TRAIN = """
import sys
from pathlib import Path
from tests.torture.a7_same_seed import train
train(Path(sys.argv[1]), 1)
"""
_TOLERANCE = 1e-5


def measure(count: int, folder: Path) -> Measured:
    """Train once with one thread, `count` times again, and once with two threads."""
    expected, threaded = _fork(folder, "first", 1), _fork(folder, "threads", 2)
    same = sum(_train(folder, f"again{number}") == expected for number in range(count))
    pairs = zip(json.loads(expected["journal"]), json.loads(threaded["journal"]), strict=True)
    error = max(abs(one["loss"] - other["loss"]) for one, other in pairs if "loss" in one)
    text = f"{same} of {count} identical, two threads within {error:.0e}"
    return Measured(text, same == count and error <= _TOLERANCE, count)


def _fork(folder: Path, name: str, threads: int) -> dict[str, str]:
    """Train in a process with the hash seed of the fork server, and return the content of the run folder."""
    assert exit_code_of(train, folder / name, threads) == 0
    return trace(folder / name)


def train(run: Path, threads: int) -> None:
    """Train; for a process of its own."""
    torch.set_num_threads(threads)
    fit(new_model(), CONFIG, DATA, new_run(run))


def _train(folder: Path, name: str) -> dict[str, str]:
    """Train with a random hash seed in a directory of its own, and return the content of the run folder."""
    directory = folder / name
    directory.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "random", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _TRAIN, str(directory / "run")]
    subprocess.run(command, cwd=directory, env=environment, check=True)
    return trace(directory / "run")
