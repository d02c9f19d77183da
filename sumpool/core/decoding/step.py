"""What a search asks of a model: a function that goes one piece further, and a state between two calls."""

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import Rules

_LEAVE_AT = {"cuda": 0.5}
"""By device, the share of a batch that still goes on when those that are done leave it; at once elsewhere. On a GPU few
rows take the time of many, and a step is recorded anew for every number of documents."""


class SearchState(Protocol):
    """What a step function remembers; rows are documents times beams, the beams of a document side by side."""

    def reorder(self, rows: Tensor) -> Self:
        """Continue from these rows (batch * beams,); every row stays with its document. There may be fewer beams."""

    def select(self, documents: Tensor) -> Self:
        """Keep these documents (fewer,), given by their place in the batch."""


StateT = TypeVar("StateT", bound=SearchState)
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""Takes the last pieces (batch * beams,) and a state; gives log-probabilities (batch * beams, vocab), which the search
overwrites, and the next state."""


def begin(
    step: Step[StateT], state: StateT, rows: int, rules: Rules, device: torch.device | str
) -> tuple[Tensor, StateT]:
    """Show a model the pieces that every summary begins with: the newest one of each row (rows,), and the state."""
    last = torch.full((rows,), rules.special_tokens.decoder_start, device=device)
    for piece in rules.prefix if rows else ():
        _, state = step(last, state)
        last = torch.full_like(last, piece)
    return last, state


def kept(unfinished: Sequence[bool], device: torch.device | str) -> list[int]:
    """Choose the places of a batch that stay in it: those that are not done, or all while few are done."""
    going = [place for place, goes_on in enumerate(unfinished) if goes_on]
    stays_whole = len(going) > _LEAVE_AT.get(torch.device(device).type, 1.0) * len(unfinished)
    return list(range(len(unfinished))) if stays_whole else going


def widest(unfinished: Sequence[Sequence[bool]], device: torch.device | str) -> int:
    """Say how many rows of each document are needed for those that go on, or how many it has where all of them stay.

    Args:
        unfinished: Of each document, at least one, which rows go on; all have the same number.
        device: Where they are.
    """
    return len(unfinished[0]) if torch.device(device).type in _LEAVE_AT else max(map(sum, unfinished))
