"""Padded batches of documents of similar length, for training and summarisation, and their order in training.

The batch order of an epoch is a pure function of the seed and the epoch, so training resumes at any batch without
replaying earlier ones.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sumpool.core.nn.numerics import to_device
from sumpool.data.shards import Item
from sumpool.errors import DataError
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, PAD, SpecialTokens
from sumpool.text.tokenizer import EncodedDocument

if TYPE_CHECKING:
    from sumpool.text.sentencepiece_tokenizer import Phrases
    from sumpool.training.distillation import Teacher

NO_PADDING = -1
"""Value of `Batch.pad` that no class has."""
_BUCKET_BATCHES = 32
"""Batches whose documents are sorted together; larger buckets have less padding and less random batches."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Padded batch of documents.

    Attributes:
        ids: (batch, length) int64 token ids, padded with `pad`; (batch, 2, length) for pairs of documents, as in all
            other tensors of documents.
        mask: (batch, length) bool, True at real tokens.
        sentences: (batch, length) int64 sentence number of each token within its document; 0 at padding.
        target: (batch, target) int64 token ids of the summaries, with EOS unless truncated, padded with `pad`; or
            (batch, 1), class of each row; None if there are neither.
        documents: Document ids.
        phrases: (batch, length) int64 phrase number of each token, the target of `unigram` boundaries; None without a
            teacher.
        pad: Id of the padding token in `ids` and `target`; NO_PADDING where targets are classes.
        lengths: Real tokens of each document, on the host whatever the device of the batch, those of a pair side by
            side; None where they are not known.
    """

    ids: Tensor
    mask: Tensor
    sentences: Tensor
    target: Tensor | None
    documents: tuple[str, ...]
    phrases: Tensor | None = None
    pad: int = PAD
    lengths: tuple[int, ...] | None = None

    def to(self, device: torch.device) -> "Batch":
        """Copy the batch from the host to a device, without waiting for it; on a CPU it stays where it is."""
        if device.type == "cpu":
            return self
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        copies: dict[str, Any] = {name: to_device(tensor, device) for name, tensor in tensors.items()}
        return replace(self, **copies)


def collate(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: "Phrases | None" = None,
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
) -> Batch:
    """Truncate documents and pad them to the longest one.

    Args:
        items: Documents, all with or all without a summary.
        source_length: Maximum tokens of a document; a final EOS survives truncation.
        target_length: Maximum tokens of a summary, including EOS. A truncated summary has no EOS.
        teacher: Phrase model that supervises boundaries.
        special_tokens: Ids of the padding and EOS tokens.
    """
    pad, eos = special_tokens.pad, special_tokens.eos
    truncated = [EncodedDocument(item.ids, item.sentences).truncate(source_length, special_tokens) for item in items]
    ids = pad_rows([document.ids for document in truncated], pad)
    sentences = pad_rows([document.sentences for document in truncated], 0)
    lengths = tuple(len(document.ids) for document in truncated)
    mask = torch.arange(ids.size(1)) < torch.tensor(lengths)[:, None]  # (batch, length)
    targets = [
        np.append(item.target.astype(np.int64), eos)
        if len(item.target) < target_length
        else item.target[:target_length]
        for item in items
        if item.target is not None
    ]
    assert len(targets) in (0, len(items)), "all documents or none have a summary"
    phrases = [teacher.indices(document.ids, document.sentences) for document in truncated if teacher]
    return Batch(
        ids=ids,
        mask=mask,
        sentences=sentences,
        target=pad_rows(targets, pad) if targets else None,
        documents=tuple(item.id for item in items),
        phrases=pad_rows(phrases, 0) if phrases else None,
        pad=pad,
        lengths=lengths,
    )


Epochs = Callable[[int], list[list[int]]]
"""Returns the batches of an epoch as indices of items."""


def bucketed_batches(lengths: Sequence[int] | np.ndarray, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """Divide documents into batches of similar length within a token budget; in an epoch every document occurs once.

    The documents are shuffled and divided into buckets. Each bucket is sorted by length and cut where a padded batch
    would exceed the budget; then the batches are shuffled.

    Args:
        lengths: (documents,) tokens per document after truncation.
        batch_tokens: Maximum tokens of a batch, including padding. A longer document forms a batch alone.
        seed: Seed of the order.
        epoch: Index of the epoch.
    """
    lengths = np.asarray(lengths, np.int64)
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(lengths))
    bucket_size = max(1, round(_BUCKET_BATCHES * batch_tokens / max(float(lengths.mean()), 1)))
    batches = []
    for start in range(0, len(order), bucket_size):
        bucket = order[start : start + bucket_size]
        by_length = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches += fill_batches(by_length.tolist(), lengths, batch_tokens)
    return [batches[index] for index in random.permutation(len(batches))]


def fill_batches(
    order: Iterable[int], lengths: Sequence[int] | np.ndarray, batch_tokens: int, max_documents: int | None = None
) -> list[list[int]]:
    """Divide a sequence of documents into batches within a token budget.

    Args:
        order: Indices of the documents, shortest first.
        lengths: (documents,) tokens per document.
        batch_tokens: Maximum tokens of a batch, including padding. A longer document forms a batch alone.
        max_documents: Maximum documents of a batch; unlimited by default.
    """
    batches: list[list[int]] = []
    for document in order:
        size = len(batches[-1]) if batches else 0
        if not size or size == max_documents or (size + 1) * lengths[document] > batch_tokens:
            batches.append([])
        batches[-1].append(document)
    return batches


def pad_rows(rows: Sequence[np.ndarray], value: int) -> Tensor:
    """Stack arrays of any length into (rows, longest) int64, padded at the end."""
    tensors = [torch.from_numpy(row.astype(np.int64)) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=value)


Collate = Callable[[Sequence[Item], int, int, "Phrases | None", SpecialTokens], Batch]
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
        collate: Makes the batches; those of summaries by default.
        towers: Documents per item.
        teacher: Model whose token distributions the training imitates.
        sampler: Batches, given the maximum tokens of one and the epoch; by default documents of similar length.
    """

    training: ItemSource
    validation: ItemSource
    source_length: int
    target_length: int
    seed: int
    phrases: "Phrases | None" = None
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS
    collate: Collate = collate
    towers: int = 1
    teacher: "Teacher | None" = None
    sampler: Callable[[int, int], list[list[int]]] | None = None

    def __post_init__(self) -> None:
        for split, documents in (("training", self.training), ("validation", self.validation)):
            if not len(documents):
                raise DataError(f"the {split} split must hold a document with a summary, got none: prepare more data")

    def lengths(self, documents: ItemSource) -> np.ndarray:
        """Tokens of each document that the model reads, (documents,)."""
        lengths: np.ndarray = np.minimum(documents.lengths, self.towers * self.source_length)
        return lengths

    def epochs(self, batch_tokens: int) -> Epochs:
        """Batches of every epoch."""
        if self.sampler:
            return partial(self.sampler, batch_tokens)
        return partial(bucketed_batches, self.lengths(self.training), batch_tokens, self.seed)

    def updates_for(self, source_tokens: int, batch_tokens: int, batches: int) -> int:
        """Number of updates until a budget of source tokens is reached, padding not counted.

        Args:
            source_tokens: Token budget, reached by the last update.
            batch_tokens: Maximum number of tokens per batch, padding included.
            batches: Batches per update.
        """
        lengths = self.lengths(self.training)
        tokens = 0
        for updates, (indices, _) in enumerate(updates_from(Position(), self.epochs(batch_tokens), batches), 1):
            tokens += int(lengths[np.concatenate(indices)].sum())
            if tokens >= source_tokens:
                return updates
        raise AssertionError("updates_from is endless")

    def batch(self, documents: ItemSource, indices: Sequence[int]) -> Batch:
        """Collate training or validation documents and their summaries; training documents with phrases."""
        phrases = self.phrases if documents is self.training else None
        items = [documents[index] for index in indices]
        return self.collate(items, self.source_length, self.target_length, phrases, self.special_tokens)


@dataclass(frozen=True)
class Position:
    """Position of a run in the training data.

    Attributes:
        epoch: Index of the epoch, from 0.
        batch: Batches of this epoch already used.
    """

    epoch: int = 0
    batch: int = 0


def updates_from(position: Position, epochs: Epochs, batches: int) -> Iterator[tuple[list[list[int]], Position]]:
    """Documents of each update, without end.

    Args:
        position: First position.
        epochs: Batches of every epoch.
        batches: Batches per update.

    Yields:
        Document indices of each batch, and the position after the update.
    """
    update: list[list[int]] = []
    epoch, first = position.epoch, position.batch
    while True:
        of_epoch = epochs(epoch)
        for number in range(first, len(of_epoch)):
            update.append(of_epoch[number])
            if len(update) == batches:
                yield update, Position(epoch, number + 1)
                update = []
        epoch, first = epoch + 1, 0


def reseed(seed: int, step: int, *process: int) -> None:
    """Seed torch's generator from seed and step, so that checkpoints need no generator state.

    Args:
        seed: Seed of the training.
        step: Number of the update.
        process: Rank of the process among several, whose draws for its documents differ.
    """
    mixed = np.random.SeedSequence([seed, step, *(rank + 1 for rank in process)]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(mixed))
