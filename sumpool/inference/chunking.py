"""Chunking: documents cut to what a model reads at once, and gathered into batches of similar length."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.data.batches import fill_batches
from sumpool.data.items import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.inference.extraction import SentenceExtractor
from sumpool.inference.length import length_targets
from sumpool.inference.loading import LoadedModel
from sumpool.inference.source import EncodedSource, encode_source
from sumpool.inference.summary import Extraction
from sumpool.special_tokens import SpecialTokens
from sumpool.text.language import UNDETECTED, detect_language, unlearnt_cause
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import EncodedDocument

MAX_BATCH_CHUNKS = 64
"""Chunks of a batch at most: more gain no speed and delay the first result."""
FIRST_DOCUMENTS = 4
"""Documents that are read before the first of them is summarised."""
MAX_GROUP_DOCUMENTS = 256
"""Documents that are read at most before the next of them is summarised."""


@dataclass(frozen=True)
class ChunkedDocument:
    """A document as chunks of at most the model's source length, or the reason why there are none.

    Attributes:
        document: The document.
        chunks: The chunks.
        tokens_read: Tokens of the chunks, without repeated special tokens.
        tokens_total: Tokens of the document.
        seconds: Time for splitting and encoding.
        reason: Why there are no chunks; empty otherwise.
        sentences: Sentences of the document.
        indices: For each chunk, the index in `sentences` of each of its sentence numbers.
        language: Language of the document (ISO 639-1); empty if it is not clear.
        unlearnt: Why the model has not learnt such a document, see `unlearnt_cause`; empty if it may have.
        extraction: Summary of a document that the model cannot improve, which then has no chunks; None for others.
        target: Length of the summary; None if it is the usual one.
        is_selection: Whether the chunk holds the best sentences of a document that the ranker has read to its end.
    """

    document: Document
    chunks: tuple[Item, ...]
    tokens_read: int
    tokens_total: int
    seconds: float
    reason: str = ""
    sentences: tuple[SourceSentence, ...] = ()
    indices: tuple[tuple[int, ...], ...] = ()
    language: str = UNDETECTED
    unlearnt: str = ""
    extraction: Extraction | None = None
    target: LengthTarget | None = None
    is_selection: bool = False

    @property
    def reading(self) -> str:
        """Description of what the model reads of a document that is longer than its input."""
        read, whole = self.tokens_read, self.tokens_total
        if self.is_selection:
            return f"all {whole:,} tokens ranked, the best {read:,} ({read / whole:.0%}) read by the model"
        return f"read {read:,} of {whole:,} tokens ({read / whole:.0%})"


@final
class Chunker:
    """Cuts documents into chunks, by the settings of a loaded model."""

    def __init__(self, loaded: LoadedModel, extractor: SentenceExtractor | None = None) -> None:
        """Prepare by the settings of a model; an extractor summarises the documents that the model cannot improve."""
        self._target = length_targets(loaded)
        self._tokenizer = loaded.tokenizer
        self._splitter = loaded.splitter
        self._source_length = loaded.recipe.model.source_length
        self._on_overflow = loaded.recipe.summarize.on_overflow
        self._language = loaded.language
        self._folder, self._source_selector = loaded.folder, cast(Any, None)
        self._extractor = extractor if loaded.recipe.summarize.mode != "abstractive" else None

    def chunk(self, document: Document) -> ChunkedDocument:
        """Tokenize a document and cut it by `summarize.on_overflow` if it is too long."""
        start = time.perf_counter()
        if document.error:
            return ChunkedDocument(document, (), 0, 0, 0.0, document.error)
        language = detect_language(document.text)
        unlearnt = unlearnt_cause(document.text, language, self._language)
        sentences = source_sentences(document, SentenceSplitter.for_language(language) if unlearnt else self._splitter)
        target = self._target(document.text)
        if self._extractor and document.text.strip():
            extraction = self._extractor.extract_without_model(document, sentences, language, target)
            if extraction:
                seconds = time.perf_counter() - start
                chunked = ChunkedDocument(document, (), 0, 0, seconds, sentences=sentences, language=language)
                return replace(chunked, unlearnt=unlearnt, extraction=extraction, target=target)
        special_tokens = self._tokenizer.special_tokens
        source = encode_source(document, sentences, self._tokenizer, self._splitter)
        longest = self._source_length
        total, first = _framed(source.document, longest, special_tokens)
        starts, parts, reason = [0], [first], ""
        if not total:
            parts, reason = [], "the document must hold text, got none"
        elif total > longest and self._on_overflow == "error":
            advice = "take truncate or window for what is longer"
            parts, reason = [], f"the document must have at most {longest:,} tokens, got {total:,}; {advice}"
        selected = None
        if total > longest and self._on_overflow == "select":
            selected = self._select(document, sentences, source, language)
        if total > longest and self._on_overflow in ("window", "select") and not selected:
            starts, parts = self._windows(source.document)
        parts, indices = selected or (parts, _sentence_indices(source, starts, parts))
        chunks = tuple(Item(document.id, part.ids, part.sentences, None) for part in parts)
        return ChunkedDocument(
            document,
            chunks,
            tokens_read=total if len(parts) > 1 else sum(len(part.ids) for part in parts),
            tokens_total=total,
            seconds=time.perf_counter() - start,
            reason=reason,
            sentences=sentences,
            target=target,
            indices=indices,
            language=language,
            unlearnt=unlearnt,
            is_selection=selected is not None,
        )

    def _select(
        self, document: Document, sentences: Sequence[SourceSentence], source: EncodedSource, language: str
    ) -> tuple[list[EncodedDocument], tuple[tuple[int, ...], ...]] | None:
        """Fill the model's input with the best sentences; None if none fits."""
        if self._source_selector is None:
            # Imported here, as only long documents need it.
            from sumpool.inference.source_selection import SourceSelector

            self._source_selector = SourceSelector.load(self._folder)
        special_tokens = self._tokenizer.special_tokens
        length = max(1, self._source_length - len(special_tokens.prefix) - len(special_tokens.suffix))
        selection = self._source_selector.select(document, sentences, source, language, length)
        if selection is None:
            return None
        part, indices = selection
        return [part.with_special_tokens(special_tokens)], (indices,)

    def _windows(self, bare: EncodedDocument) -> tuple[list[int], list[EncodedDocument]]:
        """Cut a document into windows, each with special tokens around it, and return the start of each too."""
        special_tokens = self._tokenizer.special_tokens
        length = max(1, self._source_length - len(special_tokens.prefix) - len(special_tokens.suffix))
        windows = list(cover(bare.sentences, length))
        parts = [bare.slice(*bounds).with_special_tokens(special_tokens) for bounds in windows]
        return [start for start, _ in windows], parts


def _framed(document: EncodedDocument, longest: int, special_tokens: SpecialTokens) -> tuple[int, EncodedDocument]:
    """Return the number of tokens of a document with special tokens, and as many of these as a model reads."""
    framed = document.with_special_tokens(special_tokens)
    return len(framed.ids), framed.truncate(longest, special_tokens)


def _sentence_indices(
    source: EncodedSource, starts: Sequence[int], parts: Sequence[EncodedDocument]
) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the source sentences of parts of a document, each of which begins at a token."""
    firsts = [int(source.document.sentences[start]) for start, _ in zip(starts, parts, strict=False)]
    return tuple(
        source.indices[first : first + int(part.sentences[-1]) + 1] for first, part in zip(firsts, parts, strict=True)
    )


def cover(sentences: np.ndarray, length: int) -> Iterator[tuple[int, int]]:
    """Cut a document into a first window as long as possible, as truncation does, and others of about equal length.

    Args:
        sentences: (tokens,), index of each token's sentence.
        length: Most tokens of a window.

    Yields:
        Start and end of each window.
    """
    ends = np.append(np.flatnonzero(np.diff(sentences)) + 1, len(sentences))
    ends = ends[(ends <= length) & (ends > length // 2)]
    first = int(ends[-1]) if len(ends) else min(length, len(sentences))
    yield 0, first
    for start, end in split_windows(sentences[first:], length):
        yield first + start, first + end


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
    """Group consecutive documents whose chunks are batched together, so that memory is bounded on any stream.

    The first group is small, so that its summaries do not wait for many documents; each has twice as many as the one
    before it, as larger batches are faster.
    """
    group: list[ChunkedDocument] = []
    tokens, limit = 0, min(FIRST_DOCUMENTS, max_documents)
    for document in documents:
        group.append(document)
        tokens += document.tokens_read
        if tokens >= max_tokens or len(group) == limit:
            yield group
            group, tokens, limit = [], 0, min(2 * limit, max_documents)
    if group:
        yield group
