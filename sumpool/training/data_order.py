"""Which documents an update sees: a pure function of the seed and of where the run stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from sumpool.data.batches import Batch, BatchPlan, collate
from sumpool.data.shards import Item
from sumpool.errors import DataError
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.text.phrases import Phrases


class ItemSource(Protocol):
    """Documents with summaries, by number; `Shard` is one."""

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document: (documents,)."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Item: ...


@dataclass(frozen=True)
class TrainingData:
    """What a run learns from and what it is judged by.

    Attributes:
        training: Documents to learn from.
        validation: Documents to judge by.
        source_length: Tokens of a document that the model reads.
        target_length: Tokens of a summary that the model learns from, its end included.
        seed: Seed of the order of documents and of everything random in an update.
        teacher: Numbers the phrases of training documents, where boundaries learn from them.
        special_tokens: Ids of padding and of the end of a summary.
    """

    training: ItemSource
    validation: ItemSource
    source_length: int
    target_length: int
    seed: int
    teacher: Phrases | None = None
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS

    def __post_init__(self) -> None:
        for split, documents in (("training", self.training), ("validation", self.validation)):
            if not len(documents):
                raise DataError(f"the {split} split must hold a document with a summary, got none: prepare more data")

    def plan(self, batch_tokens: int) -> BatchPlan:
        """Plan the batches of every epoch."""
        return BatchPlan(np.minimum(self.training.lengths, self.source_length), batch_tokens, self.seed)

    def updates_for(self, source_tokens: int, batch_tokens: int, batches: int) -> int:
        """Count the updates that it takes to read a budget of source tokens, padding not counted.

        Args:
            source_tokens: The budget; the last of the updates reaches it.
            batch_tokens: Most tokens of a batch, padding included.
            batches: Batches per update.
        """
        lengths = np.minimum(self.training.lengths, self.source_length)
        tokens = 0
        for updates, (numbers, _) in enumerate(updates_from(Position(), self.plan(batch_tokens), batches), 1):
            tokens += int(lengths[np.concatenate(numbers)].sum())
            if tokens >= source_tokens:
                return updates
        raise AssertionError("updates have no end")

    def batch(self, documents: ItemSource, numbers: Sequence[int]) -> Batch:
        """Make a batch of some of the documents and their summaries."""
        teacher = self.teacher if documents is self.training else None
        items = [documents[number] for number in numbers]
        return collate(items, self.source_length, self.target_length, teacher, self.special_tokens)


@dataclass(frozen=True)
class Position:
    """Where in the documents a run stands.

    Attributes:
        epoch: Number of the epoch, from 0.
        batch: Batches of this epoch that were seen.
    """

    epoch: int = 0
    batch: int = 0


def updates_from(place: Position, plan: BatchPlan, batches: int) -> Iterator[tuple[list[list[int]], Position]]:
    """List, without end, the documents of each update.

    Args:
        place: Where to begin.
        plan: The batches of every epoch.
        batches: Batches per update.

    Yields:
        Document numbers of each batch, and the place after them.
    """
    waiting: list[list[int]] = []
    for epoch, batch, numbers in plan.start_at(place.epoch, place.batch):
        waiting.append(numbers)
        if len(waiting) == batches:
            yield waiting, Position(epoch, batch + 1)
            waiting = []


def reseed(seed: int, step: int) -> None:
    """Make everything random in an update a function of seed and step, so that no generator has to be saved."""
    mixed = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(mixed))
