"""Training data and its order: a pure function of the seed and of the position of the run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from sumpool.data.batches import Batch, BatchPlan, BatchSampler, PhraseModel, collate
from sumpool.data.shards import Item
from sumpool.errors import DataError
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.text.tokenizer import EncodedDocument

if TYPE_CHECKING:
    from sumpool.text.sentencepiece_tokenizer import Phrases
    from sumpool.training.distillation import Teacher

Collate = Callable[[Sequence[Item], int, int, PhraseModel | None, SpecialTokens], Batch]
"""Makes a batch of documents, given the maximum tokens of a document and of a target."""


class ItemSource(Protocol):
    """Indexed documents with summaries, such as `Shard`."""

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document, (documents,)."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Item: ...


@dataclass(frozen=True)
class TrainingData:
    """Training and validation documents of a run.

    Attributes:
        training: Training documents.
        validation: Validation documents.
        source_length: Maximum number of source tokens, of each document of a pair.
        target_length: Maximum number of summary tokens, EOS included.
        seed: Seed of the order of documents and of all random numbers of an update.
        phrases: Phrase model of the training documents, for boundaries trained on phrases.
        special_tokens: Ids of padding and of the end of a summary.
        rotate: Share of training documents that begin with a random sentence.
        collate: Makes the batches; those of summaries by default.
        towers: Documents per item.
        teacher: Model whose token distributions the training imitates.
        sampler: Batches of every epoch, given the maximum tokens of a batch; by default documents of similar length.
    """

    training: ItemSource
    validation: ItemSource
    source_length: int
    target_length: int
    seed: int
    phrases: "Phrases | None" = None
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS
    rotate: float = 0.0
    collate: Collate = collate
    towers: int = 1
    teacher: "Teacher | None" = None
    sampler: Callable[[int], BatchPlan] | None = None

    def __post_init__(self) -> None:
        for split, documents in (("training", self.training), ("validation", self.validation)):
            if not len(documents):
                raise DataError(f"the {split} split must hold a document with a summary, got none: prepare more data")

    def lengths(self, documents: ItemSource) -> np.ndarray:
        """Tokens of each document that the model reads, (documents,)."""
        lengths: np.ndarray = np.minimum(documents.lengths, self.towers * self.source_length)
        return lengths

    def plan(self, batch_tokens: int) -> BatchPlan:
        """Batches of every epoch."""
        if self.sampler:
            return self.sampler(batch_tokens)
        return BatchSampler(self.lengths(self.training), batch_tokens, self.seed)

    def updates_for(self, source_tokens: int, batch_tokens: int, batches: int) -> int:
        """Number of updates until a budget of source tokens is reached, padding not counted.

        Args:
            source_tokens: Token budget, reached by the last update.
            batch_tokens: Maximum number of tokens per batch, padding included.
            batches: Batches per update.
        """
        lengths = self.lengths(self.training)
        tokens = 0
        for updates, (indices, _) in enumerate(updates_from(Position(), self.plan(batch_tokens), batches), 1):
            tokens += int(lengths[np.concatenate(indices)].sum())
            if tokens >= source_tokens:
                return updates
        raise AssertionError("updates_from is endless")

    def batch(
        self, documents: ItemSource, indices: Sequence[int], rotations: Sequence[tuple[float, float]] | None = None
    ) -> Batch:
        """Collate documents and their summaries; training documents with phrases, and some of them rotated.

        Args:
            documents: Training or validation documents.
            indices: Their indices.
            rotations: Draws for each training document; drawn now by default.
        """
        is_training = documents is self.training
        items = [documents[index] for index in indices]
        if self.rotate and is_training:
            draws = self.draw_rotations(len(items)) if rotations is None else rotations
            items = [self._rotate(item, *draw) for item, draw in zip(items, draws, strict=True)]
        phrases = self.phrases if is_training else None
        return self.collate(items, self.source_length, self.target_length, phrases, self.special_tokens)

    def draw_rotations(self, count: int) -> list[tuple[float, float]]:
        """Draw from torch's generator whether and where documents are rotated; nothing is drawn without rotation."""
        if not self.rotate:
            return [(1.0, 0.0)] * count
        pairs = (torch.rand(2, dtype=torch.float64).tolist() for _ in range(count))
        return [(chance, offset) for chance, offset in pairs]

    def _rotate(self, item: Item, chance: float, offset: float) -> Item:
        """Rotate the part of a document that the model reads, with probability `rotate`.

        A model that has seen summaries of such documents looks for what they are about beyond their beginning.
        """
        if chance >= self.rotate or not len(item.ids):
            return item
        document = EncodedDocument(item.ids, item.sentences).truncate(self.source_length, self.special_tokens)
        document = document.rotate(int(offset * len(document.ids)), self.special_tokens)
        return replace(item, ids=document.ids, sentences=document.sentences)


@dataclass(frozen=True)
class Position:
    """Position of a run in the training data.

    Attributes:
        epoch: Index of the epoch, from 0.
        batch: Batches of this epoch already used.
    """

    epoch: int = 0
    batch: int = 0


def updates_from(position: Position, plan: BatchPlan, batches: int) -> Iterator[tuple[list[list[int]], Position]]:
    """Documents of each update, without end.

    Args:
        position: First position.
        plan: Batches of every epoch.
        batches: Batches per update.

    Yields:
        Document indices of each batch, and the position after the update.
    """
    update: list[list[int]] = []
    for epoch, batch, indices in plan.start_at(position.epoch, position.batch):
        update.append(indices)
        if len(update) == batches:
            yield update, Position(epoch, batch + 1)
            update = []


def reseed(seed: int, step: int, *process: int) -> None:
    """Seed torch's generator from seed and step, so that checkpoints need no generator state.

    Args:
        seed: Seed of the training.
        step: Number of the update.
        process: Rank of the process among several, whose draws for its documents differ.
    """
    mixed = np.random.SeedSequence([seed, step, *(rank + 1 for rank in process)]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(mixed))
