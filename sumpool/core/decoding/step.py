"""What a search asks of a model: a function that goes one piece further, and a state between two calls."""

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

from torch import Tensor


class State(Protocol):
    """What a step function remembers; rows are documents times beams, the beams of a document side by side."""

    def reorder(self, rows: Tensor) -> Self:
        """Continue from these rows (batch * beams,); every row stays with its document."""

    def select(self, documents: Tensor) -> Self:
        """Keep these documents (fewer,), given by their place in the batch."""


StateT = TypeVar("StateT", bound=State)
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""Takes the last pieces (batch * beams,) and a state; gives log-probabilities (batch * beams, vocab), which the search
overwrites, and the next state."""
