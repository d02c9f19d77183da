"""Shares of an update: its documents divided among processes, balanced by tokens.

An update has the same documents with any number of processes. Each document is one of the update's, at a position that
numbers them in the order of a single process.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumpool.data.batches import Batch, fill_batches
from sumpool.training.data_order import TrainingData
from sumpool.training.distributed import Processes


@dataclass(frozen=True)
class Share:
    """Batches of an update that a process computes.

    Attributes:
        batches: At least one batch.
        is_idle: Whether the update has no document for this process, so that its batch must have no weight.
        imbalance: Tokens of the fullest share above those of the mean share, as a fraction of the latter; None for one
            process.
    """

    batches: list[Batch]
    is_idle: bool = False
    imbalance: float | None = None


def share_of(data: TrainingData, update: Sequence[Sequence[int]], batch_tokens: int, processes: Processes) -> Share:
    """Collate the share of a process.

    Random rotations are drawn for all documents of the update in the order of a single process, so that they do not
    depend on the number of processes.

    Args:
        data: Training data.
        update: Indices of the documents of each batch of a single process.
        batch_tokens: Maximum tokens of a batch, padding included.
        processes: The processes of the training.
    """
    if processes.size == 1:
        return Share([data.batch(data.training, batch) for batch in update])
    indices = [index for batch in update for index in batch]
    rotations = data.draw_rotations(len(indices))
    lengths = data.lengths(data.training)[indices]
    shares = divide(lengths, processes.size)
    own_share = shares[processes.rank]
    batches = [
        data.batch(data.training, [indices[place] for place in places], [rotations[place] for place in places])
        for places in micro_batches(own_share, lengths, batch_tokens)
    ]
    return Share(batches, not own_share, imbalance(lengths, shares))


def divide(lengths: Sequence[int] | np.ndarray, size: int) -> list[list[int]]:
    """Divide documents among processes: longest first, each to the process with the fewest tokens so far.

    Args:
        lengths: Tokens of the documents of an update, by position.
        size: Number of processes.

    Returns:
        Positions of the documents of each process, shortest document first; empty where there are fewer documents
        than processes.
    """
    shares: list[list[int]] = [[] for _ in range(size)]
    loads = [(0, rank) for rank in range(size)]
    for position in np.argsort(-np.asarray(lengths), kind="stable").tolist():
        load, rank = loads[0]
        shares[rank].append(position)
        heapq.heapreplace(loads, (load + int(lengths[position]), rank))
    return [share[::-1] for share in shares]


def micro_batches(share: Sequence[int], lengths: Sequence[int] | np.ndarray, batch_tokens: int) -> list[list[int]]:
    """Divide the share of a process into batches within the token budget; the shortest document for an empty share.

    Every process takes part in the reduction of gradients, so that it computes one, if only to be weighted by 0.

    Args:
        share: Positions of documents, shortest document first.
        lengths: Tokens of the documents of an update, by position.
        batch_tokens: Maximum tokens of a batch, padding included.
    """
    return fill_batches(share or [int(np.argmin(lengths))], lengths, batch_tokens)


def imbalance(lengths: Sequence[int] | np.ndarray, shares: Sequence[Sequence[int]]) -> float:
    """Tokens of the fullest share above those of the mean share, as a fraction of the latter."""
    loads = [sum(int(lengths[position]) for position in share) for share in shares]
    return max(loads) * len(loads) / sum(loads) - 1
