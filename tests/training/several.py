"""Training of the toy model in several processes on the CPU, and the 50 updates that compare their loss curves.

`python -m tests.training.several` prints the largest differences of the losses of 2 and 4 processes from those of one.
"""

import itertools
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

from sumpool.data.shards import Item
from sumpool.training.config import TrainConfig
from sumpool.training.fit import fit
from sumpool.training.processes import join_processes
from tests.training.toy import CONFIG, DATA, ToyDocuments, new_model, new_run, records_of

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch._dynamo", "torch.distributed", "tests.training.toy"])
EXACT = CONFIG.model_copy(update={"steps": 6, "batch_tokens": 96})
SHARDED = EXACT.model_copy(update={"parallel": "fsdp"})


@dataclass(frozen=True)
class Training:
    """Training to run: number of processes, settings, and type of weights."""

    size: int
    config: TrainConfig = EXACT
    dtype: torch.dtype = torch.float64
    dropout: float = 0.0


class ListedDocuments(ToyDocuments):
    """Documents that append their ids to a file when they are read."""

    def __init__(self, path: Path) -> None:
        super().__init__(30, seed=1)
        self._path = path

    def __getitem__(self, index: int) -> Item:
        item = super().__getitem__(index)
        with self._path.open("a") as file:
            file.write(f"{item.id}\n")
        return item


def run_training(training: Training, run: Path) -> None:
    """Start or resume a run in several processes, and wait for their end."""
    processes = start_training(training, run)
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes), [process.exitcode for process in processes]


def start_training(training: Training, run: Path) -> list[BaseProcess]:
    """Start or resume a run in several processes."""
    port = free_port()
    processes = [PROCESSES.Process(target=_train, args=(training, run, rank, port)) for rank in range(training.size)]
    for process in processes:
        process.start()
    return list(processes)


def kill_one(training: Training, run: Path, rank: int, step: int) -> None:
    """Start a run, kill one of its processes at a step, and wait for the end of the others, which must fail."""
    processes = start_training(training, run)
    journal = run / "metrics.jsonl"
    while processes[rank].is_alive() and not (journal.exists() and journal.read_bytes().count(b"\n") >= step):
        time.sleep(0.0005)
    processes[rank].kill()
    for process in processes:
        process.join()
    assert all(process.exitcode for process in processes)


def curve_of(run: Path) -> list[float]:
    """Return losses and gradient norms of the updates, and losses of the validations."""
    curve = [record[name] for record in records_of(run, "step") for name in ("loss", "nats", "norm")]
    return curve + [record["nats"] for record in records_of(run, "validation")]


def free_port() -> str:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return str(listener.getsockname()[1])


@contextmanager
def join_as(rank: int, size: int, port: str) -> Iterator[None]:
    """Set the variables of torchrun for a process of one thread."""
    torch.set_num_threads(1)
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
    os.environ |= {"MASTER_ADDR": "localhost", **{name: str(value) for name, value in names.items()}}
    yield


def _train(training: Training, run: Path, rank: int, port: str) -> None:
    data = replace(DATA, training=ListedDocuments(run / f"documents-{rank}"))
    with join_as(rank, training.size, port), join_processes("cpu"):
        fit(new_model(training.dropout).to(training.dtype), training.config, data, run)


def main() -> None:
    """Print the largest difference of a loss over 50 updates by type, number of processes and `train.parallel`."""
    config = CONFIG.model_copy(update={"steps": 50, "batch_tokens": 96, "validate_every": 10})
    with tempfile.TemporaryDirectory() as folder:
        for dtype in (torch.float64, torch.float32):
            expected = _curve(Training(1, config, dtype), Path(folder) / f"{dtype}")
            for size, parallel in itertools.product((2, 4), ("ddp", "fsdp")):
                training = Training(size, config.model_copy(update={"parallel": parallel}), dtype)
                curve = _curve(training, Path(folder) / f"{dtype}-{size}-{parallel}")
                difference = max(abs(a - b) for a, b in zip(expected, curve, strict=True))
                row = f"{dtype}: {size} processes, {parallel}, {config.steps} updates, difference {difference:.2g}"
                sys.stdout.write(f"{row}\n")


def _curve(training: Training, run: Path) -> list[float]:
    run_training(training, new_run(run))
    return curve_of(run)


if __name__ == "__main__":
    main()
