"""Processes of a training on several devices, as torchrun starts them, and the values that they exchange.

Objects travel through gloo, gradients and metrics through the backend of their device: gloo on CPUs, NCCL on GPUs. A
training of one process does not import torch.distributed, and every operation returns its argument.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor

from sumpool.errors import Interrupted, RecipeError, ResourceError
from sumpool.progress import Check
from sumpool.training.launch import launched_processes

Value = TypeVar("Value")
TIMEOUT = timedelta(days=2)
"""Time that processes wait for one that prepares data or summarises; one that has ended is noticed at once."""
_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "NCCL", "gloo", "Socket")
"""Parts of the messages of collectives whose other processes have ended."""


_PR_SET_PDEATHSIG = 1
"""Operation of prctl: the signal that a process receives when its parent ends."""


@dataclass(frozen=True)
class Processes:
    """The processes of a training.

    Attributes:
        rank: Number of this process, from 0; process 0 writes the run folder.
        size: Number of processes.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is process 0."""
        return self.rank == 0

    def sum(self, values: Tensor) -> Tensor:
        """Sum a tensor over the processes, on its device."""
        if self.size > 1:
            import torch.distributed as dist

            dist.all_reduce(values)
        return values

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, in the order of their ranks."""
        if self.size == 1:
            return [value]
        import torch.distributed as dist

        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def from_main(self, compute: Callable[[], Value]) -> Value:
        """Compute a value in process 0 and return it in all."""
        if self.size == 1:
            return compute()
        import torch.distributed as dist

        values: list[Any] = [compute() if self.is_main else None]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        result: Value = values[0]
        return result

    def tensors_from_main(self, tensors: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
        """Return the tensors of process 0 in all processes, on the CPU.

        Args:
            tensors: Tensors by name; None in other processes.
        """
        if self.size == 1:
            return dict(tensors or {})
        import torch.distributed as dist

        sent = {name: tensor.cpu().contiguous() for name, tensor in (tensors or {}).items()}
        shapes = self.from_main(lambda: {name: (tensor.shape, tensor.dtype) for name, tensor in sent.items()})
        for name, (shape, dtype) in shapes.items():
            if not self.is_main:
                sent[name] = torch.empty(shape, dtype=dtype)
            dist.broadcast(sent[name].view(-1).view(torch.uint8), 0)  # gloo knows no type of numbers but a few
        return sent

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """Run a block in process 0, then in the others, which read what it has written."""
        if not self.is_main:
            self.wait()
        yield
        if self.is_main:
            self.wait()

    def wait(self) -> None:
        """Wait until all processes are here."""
        self.gather(None)

    def check_together(self, check: Check) -> None:
        """Stop all processes at the same point if one of them has received a signal.

        Raises:
            Interrupted: If one has.
        """
        if self.size == 1:
            check()
            return
        number = 0
        try:
            check()
        except Interrupted as stop:
            number = stop.number
        import torch.distributed as dist

        largest = torch.tensor(number)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        if largest:
            raise Interrupted(int(largest))


class _Joined:
    """The processes of the training that this process takes part in."""

    processes = Processes()


def current_processes() -> Processes:
    """Return the processes that this one has joined; one process outside `join_processes`."""
    return _Joined.processes


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun has started; one process without torchrun.

    Args:
        device: Setting `train.device`; each process on a GPU takes that of its local rank.

    Raises:
        RecipeError: If variables of torchrun are missing, torch is too old, or a machine has fewer GPUs than processes.
        ResourceError: If another process ends before its work is done.
    """
    if launched_processes() == 1:
        yield Processes()
        return
    missing = [name for name in _VARIABLES if not os.environ.get(name, "").strip()]
    if missing:
        raise RecipeError(
            f"the environment must have {', '.join(_VARIABLES)} for a training of several processes, got no "
            f"{', '.join(missing)}: start it with torchrun or sumpool train --devices N, or unset WORLD_SIZE"
        )
    if torch.__version__ < "2.9":  # compared as versions
        raise RecipeError(
            f"a training of several processes must have torch 2.9 or newer, which writes checkpoints in shards, got "
            f"{torch.__version__}: update torch, or train in one process"
        )
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

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
        _Joined.processes = Processes(dist.get_rank(), dist.get_world_size())
        try:
            yield _Joined.processes
        finally:
            _Joined.processes = Processes()
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
            "same command again, which goes on from the newest checkpoint"
        ) from error
