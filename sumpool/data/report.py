"""Data report: statistics of documents, of splits and of prepared data, as a table and as JSON.

Contamination of evaluation documents by training documents is equal texts, compared by 64-bit hashes.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from pydantic import TypeAdapter, ValidationError

from sumpool.data.config import SPLITS, Example, Fields, Split
from sumpool.data.shards import Texts
from sumpool.errors import DataError
from sumpool.io.bounded import read_regular
from sumpool.io.manifest import REPORT
from sumpool.settings import first_problem
from sumpool.text.language import ENGLISH, split_words

LONG_DOCUMENT_TOKENS = 8192
LOW_LEAK = 0.2
"""Fraction of leaked n-grams below which a summary counts as not copied from its document."""
HIGH_LEAK = 0.9
"""Fraction of the summaries' 8-grams in the documents from which on a model would only learn to find them."""

Row = tuple[str, Callable[["SplitReport"], str]]
"""Label of a row of the table, and the function that renders its value."""


def leak_warning(leak: float) -> Iterator[str]:
    """Warn of summaries that stand in the text of their documents, by the fraction of their 8-grams that do."""
    if leak >= HIGH_LEAK:
        yield (
            f"warning: {leak:.0%} of the summaries' 8-grams stand in the documents, which seem to hold the "
            "summaries; remove these from the documents, or scores tell little"
        )


@dataclass(frozen=True, slots=True)
class DocumentStats:
    """Statistics of a document and its summary.

    Attributes:
        document_words: White-space-separated words of the document.
        summary_words: White-space-separated words of the summary.
        document_tokens: Tokens of the document.
        summary_tokens: Tokens of the summary, without EOS.
        coverage: Extractive coverage: fraction of the summary's words in fragments of the document.
        density: Extractive density: mean length in words of the fragment that a summary word belongs to.
        leak: Fraction of the summary's 8-grams that occur in the document.
        novel: Fraction of the summary's n-grams that do not occur in the document, for n = 1 to 4.
        digest: 64-bit hash of the document text, to detect duplicates.
    """

    document_words: int
    summary_words: int
    document_tokens: int
    summary_tokens: int
    coverage: float
    density: float
    leak: float
    novel: tuple[float, ...]
    digest: int


def document_stats(example: Example, document: list[str], document_tokens: int, summary_tokens: int) -> DocumentStats:
    """Compute the statistics of a document, given its words without case and punctuation."""
    from sumpool.text.fragments import overlap  # as reports are mostly read

    shared = overlap(document, split_words(example.summary))
    return DocumentStats(
        document_words=len(example.text.split()),
        summary_words=len(example.summary.split()),
        document_tokens=document_tokens,
        summary_tokens=summary_tokens,
        coverage=shared.coverage,
        density=shared.density,
        leak=shared.leak,
        novel=tuple(shared.novel_ngrams(size) for size in (1, 2, 3, 4)),
        digest=text_digest(example.text),
    )


def text_digest(text: str) -> int:
    """Return a 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


@dataclass(frozen=True)
class LengthStats:
    """Mean, percentiles and maximum of a length; all zero without documents."""

    mean: float
    p10: float
    p50: float
    p90: float
    max: int

    @classmethod
    def of(cls, values: Sequence[int]) -> "LengthStats":
        """Compute the statistics of lengths."""
        if not values:
            return cls(0, 0, 0, 0, 0)
        p10, p50, p90 = (float(value) for value in np.percentile(values, (10, 50, 90)))
        return cls(float(np.mean(values)), p10, p50, p90, max(values))


@dataclass(frozen=True)
class SplitReport:
    """Statistics of a split; extractive measures as defined by Grusky et al. (2018).

    Attributes:
        documents: Number of documents.
        document_words: Document lengths in white-space-separated words.
        document_tokens: Document lengths in tokens.
        summary_words: Summary lengths in white-space-separated words.
        summary_tokens: Summary lengths in tokens, without EOS.
        long_documents: Fraction of documents with more than 8192 tokens.
        compression: Mean compression ratio: document words per summary word.
        coverage: Mean extractive coverage: fraction of a summary's words in fragments of its document.
        density: Mean extractive density: length in words of the fragment that a summary word belongs to.
        novel_ngrams: Mean fraction of a summary's n-grams that are not in its document, for n = 1 to 4.
        leak: Mean fraction of a summary's 8-grams that are in its document.
        low_leak: Fraction of documents with less than a fifth of the summary's 8-grams.
        duplicates: Documents whose text occurs earlier in the same split.
        in_training: Documents whose text is also in the training split; 0 for the training split.
    """

    documents: int
    document_words: LengthStats
    document_tokens: LengthStats
    summary_words: LengthStats
    summary_tokens: LengthStats
    long_documents: float
    compression: float
    coverage: float
    density: float
    novel_ngrams: tuple[float, ...]
    leak: float
    low_leak: float
    duplicates: int
    in_training: int


def summarize_split(stats: Sequence[DocumentStats], training: Sequence[int]) -> SplitReport:
    """Aggregate the statistics of a split.

    Args:
        stats: Statistics of its documents.
        training: Text digests of the training documents; empty for the training split.
    """
    digests = [document.digest for document in stats]
    training_digests = set(training)
    return SplitReport(
        documents=len(stats),
        document_words=LengthStats.of([document.document_words for document in stats]),
        document_tokens=LengthStats.of([document.document_tokens for document in stats]),
        summary_words=LengthStats.of([document.summary_words for document in stats]),
        summary_tokens=LengthStats.of([document.summary_tokens for document in stats]),
        long_documents=_mean([document.document_tokens > LONG_DOCUMENT_TOKENS for document in stats]),
        compression=_mean([document.document_words / document.summary_words for document in stats]),
        coverage=_mean([document.coverage for document in stats]),
        density=_mean([document.density for document in stats]),
        novel_ngrams=tuple(_mean(fractions) for fractions in zip(*(document.novel for document in stats), strict=True)),
        leak=_mean([document.leak for document in stats]),
        low_leak=_mean([document.leak < LOW_LEAK for document in stats]),
        duplicates=len(digests) - len(set(digests)),
        in_training=sum(digest in training_digests for digest in digests),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def documents_in_training(folder: Path, split: Split) -> list[str]:
    """Return the ids of the documents of a prepared split whose text a training document has too."""
    training = {text_digest(example.text) for example in Texts(folder, "train")}
    return [example.id for example in Texts(folder, split) if text_digest(example.text) in training]


def _length_rows(label: str, length: Callable[[SplitReport], LengthStats]) -> tuple[Row, ...]:
    """Return the rows of a length: mean, percentiles, maximum."""

    def percentiles(split: SplitReport) -> str:
        stats = length(split)
        return f"{stats.p10:,.0f} / {stats.p50:,.0f} / {stats.p90:,.0f}"

    return (
        (f"{label}, mean", lambda split: f"{length(split).mean:,.0f}"),
        ("  10th/50th/90th percentile", percentiles),
        ("  maximum", lambda split: f"{length(split).max:,}"),
    )


DOCUMENT_ROWS: tuple[Row, ...] = (
    ("documents", lambda split: f"{split.documents:,}"),
    *_length_rows("words per document", lambda split: split.document_words),
    *_length_rows("tokens per document", lambda split: split.document_tokens),
    (f"documents > {LONG_DOCUMENT_TOKENS:,} tokens", lambda split: f"{split.long_documents:.1%}"),
)
SUMMARY_ROWS: tuple[Row, ...] = (
    *_length_rows("words per summary", lambda split: split.summary_words),
    *_length_rows("tokens per summary", lambda split: split.summary_tokens),
    ("compression ratio", lambda split: f"{split.compression:,.1f}"),
    ("extractive coverage", lambda split: f"{split.coverage:.1%}"),
    ("extractive density, words", lambda split: f"{split.density:.1f}"),
    (
        "novel 1/2/3/4-grams",
        lambda split: " / ".join(f"{100 * part:.0f}" for part in split.novel_ngrams) + " %" if split.documents else "-",
    ),
    ("summary 8-grams in document", lambda split: f"{split.leak:.1%}"),
    (f"  documents with < {LOW_LEAK:.0%}", lambda split: f"{split.low_leak:.1%}"),
)
OVERLAP_ROWS: tuple[Row, ...] = (
    ("duplicate documents", lambda split: f"{split.duplicates:,}"),
    ("documents also in training", lambda split: f"{split.in_training:,}"),
)


@dataclass(frozen=True)
class PreparedReport(ABC):
    """Report of prepared data.

    Attributes:
        read: Rows of the source: kept + rejected.
        kept: Documents of all splits.
        rejected: Rows that could not be used.
        vocabulary: Vocabulary size, special tokens included.
    """

    read: int
    kept: int
    rejected: int
    vocabulary: int

    def save(self, folder: Path) -> None:
        """Write the report to a prepared folder."""
        (folder / REPORT).write_bytes(TypeAdapter(type(self)).dump_json(self, indent=1) + b"\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the report of a prepared folder.

        Raises:
            DataError: If the report is missing or invalid.
        """
        path = folder / REPORT
        try:
            return cls.parse(read_regular(path), path)
        except OSError as error:
            raise DataError(
                f"{path} must be a data report, got: {error.strerror}; run sumpool prepare again"
            ) from error

    @classmethod
    def parse(cls, content: bytes, path: Path) -> Self:
        """Return the report in the content of a file, whose path errors name.

        Raises:
            DataError: If the content is invalid.
        """
        try:
            report: Self = TypeAdapter(cls).validate_json(content)
        except ValidationError as error:
            raise DataError(
                f"{path} must be a data report, got: {first_problem(error)}; run sumpool prepare again"
            ) from error
        return report

    @abstractmethod
    def rows(self) -> list[tuple[str, ...]]:
        """Return the report as a table: a heading, then a label and the value of each split per row."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """Return what describes the data of a run, by name."""


@dataclass(frozen=True)
class DataReport(PreparedReport):
    """Statistics of prepared data.

    Attributes:
        splits: Statistics of each split.
        notes: Messages about guessed and changed settings.
        language: Code of the language of most training documents (ISO 639-1); empty if it is not clear.
        fields: Names of the fields that the documents were read from, of the first file; None for sources without named
            fields.
        invisible: Invisible characters that were removed from documents and summaries; page and line marks do not
            count.
        shown: Rows of the table.
    """

    splits: Mapping[Split, SplitReport]
    notes: tuple[str, ...]
    language: str = ENGLISH
    fields: Fields | None = None
    invisible: int = 0
    shown: ClassVar[tuple[Row, ...]] = (*DOCUMENT_ROWS, *SUMMARY_ROWS, *OVERLAP_ROWS)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the report as a table: a heading, then a label and the value of each split per row."""
        splits = [self.splits[split] for split in SPLITS]
        return [("", *SPLITS), *((label, *map(show, splits)) for label, show in self.shown)]

    def facts(self) -> dict[str, str]:
        """Return what describes the data of a run, by name."""
        train = self.splits["train"]
        if not self.kept:
            return {}
        lengths = {"words of a document": train.document_words, "words of a summary": train.summary_words}
        facts = {
            "documents": ", ".join(f"{name} {split.documents:,}" for name, split in self.splits.items()),
            **{name: f"mean {words.mean:,.0f}, 90 % at most {words.p90:,.0f}" for name, words in lengths.items()},
            "language": self.language or "not clear",
            "vocabulary": f"{self.vocabulary:,} tokens",
        }
        fields = self.fields
        return {**facts, "fields": f"{fields.document}, {fields.summary}, {fields.id or 'no id'}"} if fields else facts
