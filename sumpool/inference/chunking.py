"""Chunking: documents cut to what a model reads at once, and gathered into batches of similar length."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sumpool.data.batches import Item, fill_batches
from sumpool.documents.document import Document
from sumpool.inference.loading import LoadedModel
from sumpool.text.tokenizer import EncodedDocument, encode_document

MAX_BATCH_CHUNKS = 64
"""Chunks of a batch at most: more gain no speed and delay the first result."""
MAX_GROUP_DOCUMENTS = 256
"""Documents that are read at most before the first of them is summarised."""


@dataclass(frozen=True)
class ChunkedDocument:
    """A document as chunks of at most the model's source length, or the reason why there are none."""

    id: str
    text: str
    chunks: tuple[Item, ...]
    tokens_read: int
    tokens_total: int
    seconds: float
    reason: str = ""


@final
class Chunker:
    """Cuts documents into chunks, by the settings of a loaded model."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._tokenizer = loaded.tokenizer
        self._splitter = loaded.splitter
        self._source_length = loaded.recipe.model.source_length
        self._on_overflow = loaded.recipe.summarize.on_overflow

    def chunk(self, document: Document) -> ChunkedDocument:
        """Tokenize a document and cut it by `summarize.on_overflow` if it is too long."""
        start = time.perf_counter()
        if document.error:
            return ChunkedDocument(document.id, "", (), 0, 0, 0.0, document.error)
        special_tokens = self._tokenizer.special_tokens
        bare = encode_document(document.text, self._tokenizer, self._splitter, add_special_tokens=False)
        framed = bare.with_special_tokens(special_tokens)
        total, longest = len(framed.ids), self._source_length
        parts, reason = [framed.truncate(longest, special_tokens.eos)], ""
        if not total:
            parts, reason = [], "the document must hold text, got none"
        elif total > longest and self._on_overflow == "error":
            advice = "take truncate or window for what is longer"
            parts, reason = [], f"the document must have at most {longest:,} tokens, got {total:,}; {advice}"
        elif total > longest and self._on_overflow == "window":
            parts = self._windows(bare)
        chunks = tuple(Item(document.id, part.ids, part.sentences, None) for part in parts)
        read = total if len(parts) > 1 else min(total, longest)
        seconds = time.perf_counter() - start
        return ChunkedDocument(document.id, document.text, chunks, read if parts else 0, total, seconds, reason)

    def _windows(self, bare: EncodedDocument) -> list[EncodedDocument]:
        """Cut a document into windows, each with special tokens around it."""
        special_tokens = self._tokenizer.special_tokens
        length = max(1, self._source_length - len(special_tokens.prefix) - len(special_tokens.suffix))
        windows = split_windows(bare.sentences, length)
        return [bare.slice(*bounds).with_special_tokens(special_tokens) for bounds in windows]


def split_windows(sentences: np.ndarray, length: int) -> Iterator[tuple[int, int]]:
    """Cut a document into consecutive windows of about equal length at sentence ends.

    A sentence longer than a window is cut at the end of the window.

    Args:
        sentences: (tokens,), index of each token's sentence.
        length: Most tokens of a window.

    Yields:
        Start and end of each window.
    """
    ends = np.append(np.flatnonzero(np.diff(sentences)) + 1, len(sentences))
    start = 0
    while start < len(sentences):
        left = len(sentences) - start
        target = start + -(-left // -(-left // length))
        candidates = ends[(ends > start) & (ends <= start + length)]
        end = int(candidates[np.abs(candidates - target).argmin()]) if len(candidates) else target
        yield start, end
        start = end


def batch_chunks(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Batch chunks of similar length within a budget of tokens, padding included.

    Returns:
        Indices of the chunks of each batch; the batch with the earliest chunk comes first.
    """
    shortest_first = sorted(range(len(lengths)), key=lengths.__getitem__)
    return sorted(fill_batches(shortest_first, lengths, batch_tokens, MAX_BATCH_CHUNKS), key=min)


def group_documents(
    documents: Iterable[ChunkedDocument], max_tokens: int, max_documents: int = MAX_GROUP_DOCUMENTS
) -> Iterator[list[ChunkedDocument]]:
    """Group consecutive documents whose chunks are batched together, so that memory is bounded on any stream."""
    group: list[ChunkedDocument] = []
    tokens = 0
    for document in documents:
        group.append(document)
        tokens += document.tokens_read
        if tokens >= max_tokens or len(group) == max_documents:
            yield group
            group, tokens = [], 0
    if group:
        yield group
