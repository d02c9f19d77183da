"""Batches: documents of similar length, padded together; the same way for training and for summarising.

The order of an epoch is a pure function of the seed and the epoch, so training goes on from any batch of any epoch
without replaying the ones before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sumpool.data.shards import Item
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, PAD, SpecialTokens
from sumpool.text.document import EncodedDocument
from sumpool.text.phrases import Phrases

_WINDOW = 32
"""Batches whose documents are sorted together: more waste less on padding and mix less."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents that travel together.

    Attributes:
        ids: (batch, length) int64, PAD after a document's end.
        mask: (batch, length) bool, True at real tokens.
        sentences: (batch, length) int64, number of each token's sentence in its document; 0 at padding.
        target: (batch, target) int64, the summaries; END after a whole one, then PAD. None if there are no summaries.
        documents: Names of the documents.
        phrases: (batch, length) int64, number of each token's phrase, for boundaries that learn from a teacher; None
            where there is no teacher.
        pad: Id of padding in `ids` and `target`.
    """

    ids: Tensor
    mask: Tensor
    sentences: Tensor
    target: Tensor | None
    documents: tuple[str, ...]
    phrases: Tensor | None = None
    pad: int = PAD

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        ids, mask, sentences = (part.to(device, non_blocking=True) for part in (self.ids, self.mask, self.sentences))
        target, phrases = (
            None if part is None else part.to(device, non_blocking=True) for part in (self.target, self.phrases)
        )
        return Batch(ids, mask, sentences, target, self.documents, phrases, self.pad)


def collate(
    items: Sequence[Item],
    source_length: int,
    target_length: int,
    teacher: Phrases | None = None,
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
) -> Batch:
    """Pad documents into a batch, as wide as the longest one needs.

    Args:
        items: The documents; all with a summary or all without.
        source_length: Tokens of a document that are read; later ones are left out, but for END at its end.
        target_length: Tokens of a summary that are learnt from, its end included. A summary that is cut has no END,
            because its last token here is not where it ends.
        teacher: Numbers the phrases of the documents, where boundaries learn from them.
        special_tokens: Ids of padding and of the end of a summary.

    Raises:
        ValueError: If there are no documents or only some have a summary.
    """
    if not items:
        raise ValueError("items must hold a document, got none")
    pad, eos = special_tokens.pad, special_tokens.eos
    read = [EncodedDocument(item.ids, item.sentences).truncate(source_length, eos) for item in items]
    ids = _pad([document.ids for document in read], pad)
    sentences = _pad([document.sentences for document in read], 0)
    lengths = torch.tensor([len(document.ids) for document in read])
    mask = torch.arange(ids.size(1)) < lengths[:, None]  # (batch, length)
    targets = [_ended(item.target, target_length, eos) for item in items if item.target is not None]
    if len(targets) not in (0, len(items)):
        raise ValueError(f"all items or none must have a target, got {len(targets)} of {len(items)}")
    phrases = [teacher.indices(document.ids, document.sentences) for document in read if teacher]
    return Batch(
        ids=ids,
        mask=mask,
        sentences=sentences,
        target=_pad(targets, pad) if targets else None,
        documents=tuple(item.id for item in items),
        phrases=_pad(phrases, 0) if phrases else None,
        pad=pad,
    )


class BatchPlan:
    """Which documents travel together, for every epoch.

    Args:
        lengths: (documents,), tokens that are read of each document, after truncation.
        batch_tokens: Most tokens of a batch, padding included. A document longer than that is a batch of its own.
        seed: Seed of the order.

    Raises:
        ValueError: If there are no documents or no tokens allowed.
    """

    def __init__(self, lengths: Sequence[int] | np.ndarray, batch_tokens: int, seed: int) -> None:
        if not len(lengths):
            raise ValueError("lengths must name a document, got none")
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}")
        self._lengths = np.asarray(lengths, np.int64)
        self._batch_tokens = batch_tokens
        self._seed = seed
        documents = batch_tokens / max(float(self._lengths.mean()), 1)
        self._window = max(1, round(_WINDOW * documents))

    def batches(self, epoch: int) -> list[list[int]]:
        """Every document once, in batches.

        Each window of a fresh shuffle is sorted by length and cut where the padded batch would exceed the budget; then
        the batches are shuffled.

        Args:
            epoch: Number of the epoch, from 0.
        """
        random = np.random.default_rng((self._seed, epoch))
        order = random.permutation(len(self._lengths))
        batches = []
        for start in range(0, len(order), self._window):
            window = order[start : start + self._window]
            by_length = window[np.argsort(self._lengths[window], kind="stable")]
            batches += fill_batches(by_length.tolist(), self._lengths, self._batch_tokens)
        return [batches[number] for number in random.permutation(len(batches))]

    def start_at(self, epoch: int, index: int) -> Iterator[tuple[int, int, list[int]]]:
        """Go through the batches for ever, from batch `index` of `epoch` on.

        An index at the end of an epoch is the beginning of the next one.

        Yields:
            Epoch, index within the epoch, and the documents of the batch.
        """
        while True:
            batches = self.batches(epoch)
            for place in range(index, len(batches)):
                yield epoch, place, batches[place]
            epoch, index = epoch + 1, 0

    def longest(self) -> list[int]:
        """The batch of the first epoch with the longest document, and of such batches the fullest."""
        return max(self.batches(0), key=lambda batch: (self._lengths[batch].max(), len(batch)))


def fill_batches(
    order: Iterable[int], lengths: Sequence[int] | np.ndarray, batch_tokens: int, largest: int | None = None
) -> list[list[int]]:
    """Cut a sequence of documents into batches within a budget of tokens, padding included.

    Args:
        order: Indices of the documents, shortest first.
        lengths: (documents,), tokens of each document.
        batch_tokens: Most tokens of a batch, padding included. A longer document is a batch of its own.
        largest: Most documents of a batch; None sets no limit.
    """
    batches: list[list[int]] = []
    for document in order:
        size = len(batches[-1]) if batches else 0
        if not size or size == largest or (size + 1) * lengths[document] > batch_tokens:
            batches.append([])
        batches[-1].append(document)
    return batches


def _pad(rows: Sequence[np.ndarray], value: int) -> Tensor:
    """Stack rows of any length into (rows, longest), padded at the end."""
    padded = torch.full((len(rows), max(len(row) for row in rows)), value, dtype=torch.int64)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = torch.from_numpy(row.astype(np.int64))
    return padded


def _ended(target: np.ndarray, target_length: int, eos: int) -> np.ndarray:
    if len(target) < target_length:
        return np.append(target.astype(np.int64), eos)
    return target[:target_length]
