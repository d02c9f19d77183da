"""Step functions: the interface between search and model."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import Constraint, Rules
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.nn.numerics import round_up, to_device
from sumpool.special_tokens import SpecialTokens

COMPACT_BELOW = {"cuda": 0.5}
"""By device, the fraction of unfinished documents at which finished ones are dropped from the batch; 1 elsewhere. On a
GPU few rows take the time of many, and each batch size needs a CUDA graph of its own."""

ROWS_MULTIPLE = 4
"""Rows of a document in a batch are dropped this many at a time; to fewer rows a CPU applies other kernels."""

HOST_DEVICES = ["cpu"]
"""Types of the devices on which hypotheses and samples are values of Python."""
STEPS_BETWEEN_CHECKS = 16
"""Steps on tensors after which the host looks which documents have finished."""


class SearchState(Protocol):
    """State of a step function between two steps; rows are documents times beams, those of a document side by side."""

    def reorder(self, rows: Tensor) -> Self:
        """Continue rows `rows` (batch * beams,), each of the same document; there may be fewer beams."""

    def select(self, documents: Tensor) -> Self:
        """Continue with these documents only, (fewer,) indices."""


StateT = TypeVar("StateT", bound=SearchState)
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""Maps the last tokens (batch * beams,) and a state to log-probabilities (batch * beams, vocab), which the search
overwrites, and the next state."""


def is_host(device: torch.device | str) -> bool:
    """Return whether hypotheses on a device are values of Python."""
    return torch.device(device).type in HOST_DEVICES


def forbid(
    log_probs: Tensor,
    length: int,
    lengths: Sequence[Lengths],
    constraints: Sequence[Sequence[Sequence[Constraint]]],
    special_tokens: SpecialTokens,
) -> None:
    """Set the log-probabilities of forbidden tokens to -inf, without waiting for their device.

    Args:
        log_probs: (documents * rows, vocab), overwritten.
        length: Tokens of every hypothesis.
        lengths: Length bounds of each document.
        constraints: Constraints of the first rows of each document.
        special_tokens: Ids of the end of a summary and of suppressed tokens.
    """
    eos = special_tokens.eos
    log_probs.index_fill_(1, to_device(special_tokens.suppressed, log_probs, torch.long), -math.inf)
    by_document = log_probs.view(len(lengths), -1, log_probs.size(-1))
    rows: list[int] = []
    tokens: list[int] = []
    for index, (bounds, document) in enumerate(zip(lengths, constraints, strict=True)):
        first, after = index * by_document.size(1), (index + 1) * by_document.size(1)
        if length < bounds.minimum:
            rows.extend(range(first, after))
            tokens.extend([eos] * (after - first))
        if length >= bounds.maximum:
            by_document[index, :, :eos] = -math.inf
            by_document[index, :, eos + 1 :] = -math.inf
        for row, hypothesis in enumerate(document, first):
            for constraint in hypothesis:
                forbidden = constraint.forbidden()
                rows.extend([row] * len(forbidden))
                tokens.extend(forbidden)
    if rows:
        indices = to_device([rows, tokens], log_probs)
        log_probs[indices[0], indices[1]] = -math.inf


def feed_prefix(
    step: Step[StateT], state: StateT, rows: int, rules: Rules, device: torch.device | str
) -> tuple[Tensor, StateT]:
    """Feed the prefix of all summaries to a model; return the last token of each row (rows,) and the state."""
    last = torch.full((rows,), rules.special_tokens.decoder_start, device=device)
    for token in rules.prefix if rows else ():
        _, state = step(last, state)
        last = torch.full_like(last, token)
    return last, state


def documents_to_keep(unfinished: Sequence[bool], device: torch.device | str) -> list[int]:
    """Return the indices of documents that stay in the batch: unfinished ones, or all while few are finished."""
    remaining = [index for index, is_unfinished in enumerate(unfinished) if is_unfinished]
    keep_all = len(remaining) > COMPACT_BELOW.get(torch.device(device).type, 1.0) * len(unfinished)
    return list(range(len(unfinished))) if keep_all else remaining


def rows_to_keep(unfinished: Sequence[Sequence[bool]], device: torch.device | str) -> int:
    """Return the number of rows per document that hold all unfinished ones, or all where batches are not compacted.

    It depends on batch mates and is a multiple of `ROWS_MULTIPLE`: products of fewer rows add in another order.

    Args:
        unfinished: For each document (at least one), which rows are unfinished; all have equally many rows.
        device: Device of the batch.
    """
    rows = len(unfinished[0])
    if torch.device(device).type in COMPACT_BELOW:
        return rows
    return min(rows, round_up(max(map(sum, unfinished)), ROWS_MULTIPLE))
