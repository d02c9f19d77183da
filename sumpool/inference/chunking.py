"""Documents as what a model reads at once: passages, gathered into batches of similar length."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sumpool.data.shards import Item
from sumpool.documents import Document
from sumpool.inference.loading import LoadedModel
from sumpool.text.document import EncodedDocument, encode_document

_MOST = 64
"""Passages of a batch at most: more gain no speed and delay the first result."""
_AHEAD = 256
"""Documents that are looked at before the first of them is summarised, at most."""


@dataclass(frozen=True)
class ChunkedDocument:
    """What is read of a document.

    Attributes:
        id: Name of the document.
        text: The document.
        passages: What the model reads, one after the other; none of a document that cannot be summarised.
        read: Tokens that are read.
        total: Tokens of the document.
        seconds: Time that it took to find this out.
        reason: Why nothing is read; empty otherwise.
    """

    id: str
    text: str
    passages: tuple[Item, ...]
    read: int
    total: int
    seconds: float
    reason: str = ""


class Chunker:
    """Turns documents into passages, as the settings of a run say."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._tokenizer = loaded.tokenizer
        self._splitter = loaded.splitter
        self._source_length = loaded.recipe.model.source_length
        self._on_overflow = loaded.recipe.summarize.on_overflow

    def read(self, document: Document) -> ChunkedDocument:
        """Decide what is read of a document: all of it, or what `on_overflow` says if it is too long."""
        start = time.perf_counter()
        if document.error:
            return ChunkedDocument(document.id, "", (), 0, 0, 0.0, document.error)
        special_tokens = self._tokenizer.special_tokens
        whole = encode_document(document.text, self._tokenizer, self._splitter, add_special_tokens=False)
        framed = whole.with_special_tokens(special_tokens)
        total, most = len(framed.ids), self._source_length
        parts, reason = [framed.truncate(most, special_tokens.eos)], ""
        if not total:
            parts, reason = [], "the document must hold text, got none"
        elif total > most and self._on_overflow == "error":
            advice = "take truncate or window for what is longer"
            parts, reason = [], f"the document must have at most {most:,} tokens, got {total:,}; {advice}"
        elif total > most and self._on_overflow == "window":
            parts = self._windows(whole)
        passages = tuple(Item(document.id, part.ids, part.sentences, None) for part in parts)
        read = total if len(parts) > 1 else min(total, most)
        seconds = time.perf_counter() - start
        return ChunkedDocument(document.id, document.text, passages, read if parts else 0, total, seconds, reason)

    def _windows(self, whole: EncodedDocument) -> list[EncodedDocument]:
        """Cut a document into windows, each with special tokens around it."""
        special_tokens = self._tokenizer.special_tokens
        most = max(1, self._source_length - len(special_tokens.prefix) - len(special_tokens.suffix))
        return [whole.slice(*bounds).with_special_tokens(special_tokens) for bounds in windows(whole.sentences, most)]


def windows(sentences: np.ndarray, source_length: int) -> Iterator[tuple[int, int]]:
    """Cut a document into consecutive windows of about equal length at ends of sentences.

    A sentence longer than a window is cut where the window must end.

    Args:
        sentences: (length,), number of each token's sentence.
        source_length: Most tokens of a window.

    Yields:
        Start and end of each window.
    """
    ends = np.append(np.flatnonzero(np.diff(sentences)) + 1, len(sentences))
    start = 0
    while start < len(sentences):
        left = len(sentences) - start
        aim = start + -(-left // -(-left // source_length))
        fitting = ends[(ends > start) & (ends <= start + source_length)]
        end = int(fitting[np.abs(fitting - aim).argmin()]) if len(fitting) else aim
        yield start, end
        start = end


def gather(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Put passages of similar length together, within a budget of tokens, padding included.

    Returns:
        Indices of the passages of each batch; the batch with the earliest passage comes first.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        full = not batches or len(batches[-1]) == _MOST or (len(batches[-1]) + 1) * lengths[index] > batch_tokens
        batches += [[index]] if full else []
        if not full:
            batches[-1].append(index)
    return sorted(batches, key=min)


def stretches(readings: Iterable[ChunkedDocument], most_tokens: int) -> Iterator[list[ChunkedDocument]]:
    """Cut a stream into stretches whose passages are batched together, so that memory stays bounded."""
    stretch: list[ChunkedDocument] = []
    tokens = 0
    for reading in readings:
        stretch.append(reading)
        tokens += reading.read
        if tokens >= most_tokens or len(stretch) == _AHEAD:
            yield stretch
            stretch, tokens = [], 0
    if stretch:
        yield stretch
