"""The processes of a training: this module has the one process of most, `training.parallel` has several."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sumpool.progress import Check

if TYPE_CHECKING:
    from torch import Tensor

Value = TypeVar("Value")


@dataclass(frozen=True)
class Processes:
    """The processes of a training; in a training of one, every operation returns its argument.

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

    def sum(self, values: "Tensor") -> "Tensor":
        """Sum a tensor over the processes, on its device."""
        return values

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, in the order of their ranks."""
        return [value]

    def from_main(self, compute: Callable[[], Value]) -> Value:
        """Compute a value in process 0 and return it in all."""
        return compute()

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """Run a block in process 0, then in the others, which read what it has written."""
        if not self.is_main:
            self.gather(None)  # waits for all
        yield
        if self.is_main:
            self.gather(None)

    def check_together(self, check: Check) -> None:
        """Stop all processes at the same point if one of them has received a signal.

        Raises:
            Interrupted: If one has.
        """
        check()


class _Joined:
    """The processes of the training that this process takes part in."""

    processes = Processes()


def current_processes() -> Processes:
    """Return the processes that this one has joined; one process outside `join_processes`."""
    return _Joined.processes


def launched_processes() -> int:
    """Return the number of processes that torchrun has started this one with; 1 without torchrun."""
    text = os.environ.get("WORLD_SIZE", "").strip()
    return int(text) if text.isdecimal() else 1


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun has started; one process without torchrun.

    Args:
        device: Setting `train.device`; each process on a GPU takes that of its local rank.

    Raises:
        RecipeError: If variables of torchrun are missing, or a machine has fewer GPUs than processes.
        ResourceError: If another process ends before its work is done.
    """
    if launched_processes() == 1:
        yield Processes()
        return
    from sumpool.training.parallel import distributed  # takes torch.distributed along

    with distributed(device) as processes:
        _Joined.processes = processes
        try:
            yield processes
        finally:
            _Joined.processes = Processes()
