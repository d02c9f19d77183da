"""Padded batches of documents of similar length, for training and summarisation.

The batch order of an epoch is a pure function of the seed and the epoch, so training resumes at any batch without
replaying earlier ones.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sumpool.core.nn.numerics import to_device
from sumpool.data.shards import Item
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, PAD, SpecialTokens
from sumpool.text.tokenizer import EncodedDocument

NO_PADDING = -1
"""Value of `Batch.pad` that no class has."""
_BUCKET_BATCHES = 32
"""Batches whose documents are sorted together; larger buckets have less padding and less random batches."""


class PhraseModel(Protocol):
    """Assigns the tokens of a document to phrases; `Phrases` implements it."""

    def indices(self, ids: np.ndarray, sentences: np.ndarray) -> np.ndarray:
        """Return the phrase index of each token, (length,)."""


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
        ids, mask, sentences = (to_device(tensor, device) for tensor in (self.ids, self.mask, self.sentences))
        target, phrases = (
            None if tensor is None else to_device(tensor, device) for tensor in (self.target, self.phrases)
        )
        return Batch(ids, mask, sentences, target, self.documents, phrases, self.pad, self.lengths)


def collate(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: PhraseModel | None = None,
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
) -> Batch:
    """Truncate documents and pad them to the longest one.

    Args:
        items: Documents, all with or all without a summary.
        source_length: Maximum tokens of a document; a final EOS survives truncation.
        target_length: Maximum tokens of a summary, including EOS. A truncated summary has no EOS.
        teacher: Phrase model that supervises boundaries.
        special_tokens: Ids of the padding and EOS tokens.

    Raises:
        ValueError: If `items` is empty, or only some have a summary.
    """
    if not items:
        raise ValueError("items must not be empty, got none")
    pad, eos = special_tokens.pad, special_tokens.eos
    truncated = [EncodedDocument(item.ids, item.sentences).truncate(source_length, special_tokens) for item in items]
    ids = _pad([document.ids for document in truncated], pad)
    sentences = _pad([document.sentences for document in truncated], 0)
    lengths = tuple(len(document.ids) for document in truncated)
    mask = torch.arange(ids.size(1)) < torch.tensor(lengths)[:, None]  # (batch, length)
    targets = [_add_eos(item.target, target_length, eos) for item in items if item.target is not None]
    if len(targets) not in (0, len(items)):
        raise ValueError(f"all items or none must have a target, got {len(targets)} of {len(items)}")
    phrases = [teacher.indices(document.ids, document.sentences) for document in truncated if teacher]
    return Batch(
        ids=ids,
        mask=mask,
        sentences=sentences,
        target=_pad(targets, pad) if targets else None,
        documents=tuple(item.id for item in items),
        phrases=_pad(phrases, 0) if phrases else None,
        pad=pad,
        lengths=lengths,
    )


class BatchPlan(ABC):
    """Batches of every epoch as indices of items."""

    @abstractmethod
    def batches(self, epoch: int) -> list[list[int]]:
        """Return the items of each batch of an epoch."""

    @abstractmethod
    def longest(self) -> list[int]:
        """Return the items of the batch that needs most memory."""

    def start_at(self, epoch: int, index: int) -> Iterator[tuple[int, int, list[int]]]:
        """Iterate over the batches of all epochs, starting at batch `index` of `epoch`.

        An index at the end of an epoch means the beginning of the next one.

        Yields:
            Epoch, index within the epoch, and the items of the batch.
        """
        while True:
            batches = self.batches(epoch)
            for batch in range(index, len(batches)):
                yield epoch, batch, batches[batch]
            epoch, index = epoch + 1, 0


class BatchSampler(BatchPlan):
    """Assignment of documents to batches by length buckets and a token budget, for every epoch.

    Args:
        lengths: (documents,) tokens per document after truncation.
        batch_tokens: Maximum tokens of a batch, including padding. A longer document forms a batch alone.
        seed: Seed of the order.

    Raises:
        ValueError: If there are no documents, or `batch_tokens` is less than 1.
    """

    def __init__(self, lengths: Sequence[int] | np.ndarray, batch_tokens: int, seed: int) -> None:
        if not len(lengths):
            raise ValueError("lengths must not be empty, got none")
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}")
        self._lengths = np.asarray(lengths, np.int64)
        self._batch_tokens = batch_tokens
        self._seed = seed
        documents = batch_tokens / max(float(self._lengths.mean()), 1)
        self._bucket_size = max(1, round(_BUCKET_BATCHES * documents))

    def batches(self, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch, in which every document occurs once.

        The documents are shuffled and divided into buckets. Each bucket is sorted by length and cut where a padded
        batch would exceed the budget; then the batches are shuffled.
        """
        random = np.random.default_rng((self._seed, epoch))
        order = random.permutation(len(self._lengths))
        batches = []
        for start in range(0, len(order), self._bucket_size):
            bucket = order[start : start + self._bucket_size]
            by_length = bucket[np.argsort(self._lengths[bucket], kind="stable")]
            batches += fill_batches(by_length.tolist(), self._lengths, self._batch_tokens)
        return [batches[index] for index in random.permutation(len(batches))]

    def longest(self) -> list[int]:
        """Return the batch of the first epoch with the longest document; of several, the largest."""
        return max(self.batches(0), key=lambda batch: (self._lengths[batch].max(), len(batch)))


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


def _pad(rows: Sequence[np.ndarray], value: int) -> Tensor:
    """Stack arrays of any length into (rows, longest), padded at the end."""
    padded = torch.full((len(rows), max(len(row) for row in rows)), value, dtype=torch.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = torch.from_numpy(row.astype(np.int64))
    return padded


def _add_eos(target: np.ndarray, target_length: int, eos: int) -> np.ndarray:
    """Append EOS, or truncate without it."""
    if len(target) < target_length:
        return np.append(target.astype(np.int64), eos)
    return target[:target_length]
