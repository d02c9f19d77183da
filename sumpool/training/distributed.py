"""Several processes of a training, as torchrun starts them, and the values that they exchange.

Objects travel through gloo, gradients and metrics through the backend of their device: gloo on CPUs, NCCL on GPUs.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from sumpool.errors import Interrupted, RecipeError, ResourceError
from sumpool.progress import Check
from sumpool.training.processes import Processes, Value

TIMEOUT = timedelta(days=2)
"""Time that processes wait for one that prepares data or summarises; one that has ended is noticed at once."""
_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "NCCL", "gloo", "Socket")
"""Parts of the messages of collectives whose other processes have ended."""


_PR_SET_PDEATHSIG = 1
"""Operation of prctl: the signal that a process receives when its parent ends."""


class DistributedProcesses(Processes):
    """Several processes; all of them call an operation, which returns when each has."""

    def sum(self, values: Tensor) -> Tensor:
        """Sum a tensor over the processes, on its device."""
        dist.all_reduce(values)
        return values

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, in the order of their ranks."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def from_main(self, compute: Callable[[], Value]) -> Value:
        """Compute a value in process 0 and return it in all."""
        values: list[Any] = [compute() if self.is_main else None]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        result: Value = values[0]
        return result

    def check_together(self, check: Check) -> None:
        """Stop all processes at the same point if one of them has received a signal.

        Raises:
            Interrupted: If one has.
        """
        number = 0
        try:
            check()
        except Interrupted as stop:
            number = stop.number
        largest = torch.tensor(number)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        if largest:
            raise Interrupted(int(largest))


@contextmanager
def distributed(device: str) -> Iterator[DistributedProcesses]:
    """Join the processes that torchrun has started.

    Args:
        device: Setting `train.device`; each process on a GPU takes that of its local rank.

    Raises:
        RecipeError: If variables of torchrun are missing, or a machine has fewer GPUs than processes.
        ResourceError: If another process ends before its work is done.
    """
    missing = [name for name in _VARIABLES if not os.environ.get(name, "").strip()]
    if missing:
        raise RecipeError(
            f"the environment must have {', '.join(_VARIABLES)} for a training of several processes, got no "
            f"{', '.join(missing)}: start it with torchrun, or unset WORLD_SIZE"
        )
    _end_with_launcher()
    is_on_gpu = device != "cpu" and torch.cuda.is_available()
    if is_on_gpu:
        _take_gpu(int(os.environ["LOCAL_RANK"]))
    with _lost_processes():
        backend = "cpu:gloo,cuda:nccl" if is_on_gpu else "gloo"
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        if restart == "0" or os.environ.get("LOCAL_WORLD_SIZE") != os.environ["WORLD_SIZE"]:
            dist.init_process_group(backend, timeout=TIMEOUT)
        else:  # the store of torchrun still has the addresses of the processes before
            store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
            store = PrefixStore(f"restart-{restart}", store)
            dist.init_process_group(backend, timeout=TIMEOUT, store=store, rank=rank, world_size=size)
        yield DistributedProcesses(dist.get_rank(), dist.get_world_size())
        dist.destroy_process_group()


def _end_with_launcher() -> None:
    """End this process when torchrun is killed, so that it does not hold the run folder without it."""
    if sys.platform == "linux" and "TORCHELASTIC_RUN_ID" in os.environ:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _take_gpu(local_rank: int) -> None:
    gpus = torch.cuda.device_count()
    if local_rank >= gpus:
        raise RecipeError(
            f"each process of a machine must have a GPU of its own, got process {local_rank + 1} and {gpus} GPUs: "
            "start fewer processes, or set train.device=cpu"
        )
    torch.cuda.set_device(local_rank)


@contextmanager
def _lost_processes() -> Iterator[None]:
    """Convert the errors of collectives to one sentence.

    Raises:
        ResourceError: If another process has ended.
    """
    try:
        yield
    except RuntimeError as error:
        if not any(text in str(error) for text in _LOST):
            raise
        raise ResourceError(
            "all processes of a training must run until its end, but one has ended: see why in its log, and run the "
            "same command again, which resumes from the newest checkpoint"
        ) from error
