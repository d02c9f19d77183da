"""Chunking: documents cut to what a model reads at once, and gathered into batches of similar length."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.data.batches import fill_batches
from sumpool.data.items import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.inference.extraction import SentenceExtractor
from sumpool.inference.length import length_targets
from sumpool.inference.loading import LoadedModel
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.source import EncodedSource, encode_source
from sumpool.inference.summary import Extraction
from sumpool.ranking.sentence_selector import SentenceSelector
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
    """A document with the chunk of it that the model reads, or the reason why there is none.

    Attributes:
        document: The document.
        chunk: What the model reads, at most its source length; None if there is a reason.
        tokens_read: Tokens of the chunk.
        tokens_total: Tokens of the document.
        seconds: Time for splitting and encoding.
        reason: Why there is no chunk; empty otherwise.
        sentences: Sentences of the document.
        indices: The index in `sentences` of each sentence number of the chunk.
        language: Language of the document (ISO 639-1); empty if it is not clear.
        unlearnt: Why the model has not learnt such a document, see `unlearnt_cause`; empty if it may have.
        extraction: Summary of a document that the model cannot improve, which then has no chunk; None for others.
        target: Length of the summary; None if it is the usual one.
        is_selection: Whether the chunk holds the best sentences of a document that the ranker has read to its end.
    """

    document: Document
    chunk: Item | None
    tokens_read: int
    tokens_total: int
    seconds: float
    reason: str = ""
    sentences: tuple[SourceSentence, ...] = ()
    indices: tuple[int, ...] = ()
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
    """Cuts documents to what a model reads, by its settings."""

    def __init__(self, loaded: LoadedModel, extractor: SentenceExtractor | None = None) -> None:
        """Prepare by the settings of a model; an extractor summarises the documents that the model cannot improve."""
        self._target = length_targets(loaded)
        self._tokenizer = loaded.tokenizer
        self._splitter = loaded.splitter
        self._source_length = loaded.recipe.model.source_length
        self._on_overflow = loaded.recipe.summarize.on_overflow
        self._language = loaded.language
        self._folder = loaded.folder
        self._selector = extractor.selector if extractor else None
        self._extractor = extractor if loaded.recipe.summarize.mode != "abstractive" else None

    def chunk(self, document: Document) -> ChunkedDocument:
        """Tokenize a document and cut it by `summarize.on_overflow` if it is too long."""
        start = time.perf_counter()
        if document.error:
            return ChunkedDocument(document, None, 0, 0, 0.0, document.error)
        language = detect_language(document.text)
        unlearnt = unlearnt_cause(document.text, language, self._language)
        sentences = source_sentences(document, SentenceSplitter.for_language(language) if unlearnt else self._splitter)
        target = self._target(document.text)
        if self._extractor and document.text.strip():
            extraction = self._extractor.extract_without_model(document, sentences, language, target)
            if extraction:
                seconds = time.perf_counter() - start
                chunked = ChunkedDocument(document, None, 0, 0, seconds, sentences=sentences, language=language)
                return replace(chunked, unlearnt=unlearnt, extraction=extraction, target=target)
        special_tokens, longest = self._tokenizer.special_tokens, self._source_length
        source = encode_source(document, sentences, self._tokenizer, self._splitter)
        whole = source.document.with_special_tokens(special_tokens)
        total, reason, selected = len(whole.ids), "", None
        if not total:
            reason = "the document must hold text, got none"
        elif total > longest and self._on_overflow == "error":
            reason = f"the document must have at most {longest:,} tokens, got {total:,}; take select for what is longer"
        elif total > longest and self._on_overflow == "select":
            selected = self._select(document, sentences, source, language)
        part, indices = selected or (whole.truncate(longest, special_tokens), source.indices)
        chunk = None if reason else Item(document.id, part.ids, part.sentences, None)
        return ChunkedDocument(
            document,
            chunk,
            tokens_read=len(chunk.ids) if chunk else 0,
            tokens_total=total,
            seconds=time.perf_counter() - start,
            reason=reason,
            sentences=sentences,
            target=target,
            indices=indices[: int(chunk.sentences[-1]) + 1] if chunk else (),
            language=language,
            unlearnt=unlearnt,
            is_selection=selected is not None,
        )

    def _select(
        self, document: Document, sentences: Sequence[SourceSentence], source: EncodedSource, language: str
    ) -> tuple[EncodedDocument, tuple[int, ...]] | None:
        """Fill the model's input with the best sentences; None if none fits."""
        # Imported here, as only long documents need it.
        from sumpool.inference.source_selection import SourceSelector

        self._selector = self._selector or SentenceSelector.load(self._folder, SHIPPED)
        special_tokens = self._tokenizer.special_tokens
        length = max(1, self._source_length - len(special_tokens.prefix) - len(special_tokens.suffix))
        selection = SourceSelector(self._selector).select(document, sentences, source, language, length)
        if selection is None:
            return None
        part, indices = selection
        return part.with_special_tokens(special_tokens), indices


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
