"""Which documents an update sees: a pure function of the seed and of where the run stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sumpool.data.batches import Batch, BatchPlan, collate
from sumpool.data.shards import Item
from sumpool.errors import DataError


@dataclass(frozen=True)
class Material:
    """What a run learns from and what it is judged by.

    Attributes:
        training: Documents to learn from.
        validation: Documents to judge by.
        source_length: Tokens of a document that the model reads.
        target_length: Tokens of a summary that the model learns from, its end included.
        seed: Seed of the order of documents and of everything random in an update.
    """

    training: Sequence[Item]
    validation: Sequence[Item]
    source_length: int
    target_length: int
    seed: int

    def __post_init__(self) -> None:
        for split, items in (("training", self.training), ("validation", self.validation)):
            if not len(items):
                raise DataError(f"the {split} split must hold a document with a summary, got none: prepare more data")

    def collate(self, items: Sequence[Item]) -> Batch:
        """Make a batch of documents and their summaries."""
        return collate(items, self.source_length, self.target_length)

    def lengths(self, items: Sequence[Item]) -> list[int]:
        """Count the source tokens that the model reads of each document."""
        return [min(len(item.ids), self.source_length) for item in items]


@dataclass(frozen=True)
class Place:
    """Where in the documents a run stands.

    Attributes:
        epoch: Times that all documents were seen.
        batch: Batches of the present epoch that were seen.
    """

    epoch: int = 0
    batch: int = 0


def updates_from(place: Place, plan: BatchPlan, batches: int) -> Iterator[tuple[list[list[int]], Place]]:
    """List, without end, the documents of each update.

    Args:
        place: Where to begin.
        plan: The batches of every epoch.
        batches: Batches per update.

    Yields:
        Document numbers of each batch, and the place after them.
    """
    epoch, first = place.epoch, place.batch
    waiting: list[list[int]] = []
    while True:
        for number, rows in enumerate(plan.epoch(epoch)[first:], start=first + 1):
            waiting.append(rows)
            if len(waiting) == batches:
                yield waiting, Place(epoch, number)
                waiting = []
        epoch, first = epoch + 1, 0


def reseed(seed: int, step: int) -> None:
    """Make everything random in an update a function of seed and step, so that no generator has to be saved."""
    mixed = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(mixed))
