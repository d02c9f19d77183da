"""Data report: statistics of prepared data, as a table and as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from sumpool.data.inputs import SPLITS, Split
from sumpool.data.sources._base import Fields
from sumpool.errors import DataError
from sumpool.io.bounded import read_regular
from sumpool.settings import first_problem
from sumpool.text.language import ENGLISH

REPORT_FILE = "report.json"
LONG_DOCUMENT_TOKENS = 8192
LOW_LEAK = 0.2
"""Maximum fraction of 8-grams that a low-leak summary shares with its document."""

HIGH_LEAK = 0.9
"""Fraction of the summaries' 8-grams in the documents from which on a model would only learn to find them."""

ReportOf = TypeVar("ReportOf", bound="PreparedReport")
Row = tuple[str, Callable[["SplitReport"], str]]
"""Label of a row of the table, and the function that renders its value."""


def leak_warning(leak: float) -> Iterator[str]:
    """Warn of summaries that stand in the text of their documents, by the fraction of their 8-grams that do."""
    if leak >= HIGH_LEAK:
        yield (
            f"warning: {leak:.0%} of the summaries' 8-grams stand in the documents, which seem to hold the "
            "summaries; remove these from the documents, or scores tell little"
        )


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
        runs_in_training: Fraction of the documents' sampled 13-grams that are in training documents; None for the
            training split.
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
    runs_in_training: float | None


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{fraction:.1%}"


def _percentages(fractions: Sequence[float]) -> str:
    return " / ".join(f"{100 * fraction:.0f}" for fraction in fractions) + " %" if fractions else "-"


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
    (f"documents > {LONG_DOCUMENT_TOKENS:,} tokens", lambda split: _percent(split.long_documents)),
)
SUMMARY_ROWS: tuple[Row, ...] = (
    *_length_rows("words per summary", lambda split: split.summary_words),
    *_length_rows("tokens per summary", lambda split: split.summary_tokens),
    ("compression ratio", lambda split: f"{split.compression:,.1f}"),
    ("extractive coverage", lambda split: _percent(split.coverage)),
    ("extractive density, words", lambda split: f"{split.density:.1f}"),
    ("novel 1/2/3/4-grams", lambda split: _percentages(split.novel_ngrams)),
    ("summary 8-grams in document", lambda split: _percent(split.leak)),
    (f"  documents with < {LOW_LEAK:.0%}", lambda split: _percent(split.low_leak)),
)
OVERLAP_ROWS: tuple[Row, ...] = (
    ("duplicate documents", lambda split: f"{split.duplicates:,}"),
    ("documents also in training", lambda split: f"{split.in_training:,}"),
    ("13-grams also in training", lambda split: _percent(split.runs_in_training)),
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
        (folder / REPORT_FILE).write_bytes(_adapter(type(self)).dump_json(self, indent=1) + b"\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the report of a prepared folder.

        Raises:
            DataError: If the report is missing or invalid.
        """
        path = folder / REPORT_FILE
        try:
            return cls.parse(read_regular(path), path)
        except OSError as error:
            raise _damaged(path, str(error.strerror)) from error

    @classmethod
    def parse(cls, content: bytes, path: Path) -> Self:
        """Return the report in the content of a file, whose path errors name.

        Raises:
            DataError: If the content is invalid.
        """
        try:
            report: Self = _adapter(cls).validate_json(content)
        except ValidationError as error:
            raise _damaged(path, first_problem(error)) from error
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
        language: Code of the language of most training documents (ISO 639-1); empty if it is not clear. Reports without
            it are of English data.
        fields: Names of the fields that the documents were read from, of the first file; None for sources without named
            fields and in reports of older versions.
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
        facts = {
            "documents": ", ".join(f"{name} {split.documents:,}" for name, split in self.splits.items()),
            "words of a document": _mean_and_p90(train.document_words),
            "words of a summary": _mean_and_p90(train.summary_words),
            "language": self.language or "not clear",
            "vocabulary": f"{self.vocabulary:,} tokens",
        }
        fields = self.fields
        return {**facts, "fields": f"{fields.document}, {fields.summary}, {fields.id or 'no id'}"} if fields else facts


def _mean_and_p90(words: LengthStats) -> str:
    return f"mean {words.mean:,.0f}, 90 % at most {words.p90:,.0f}"


def remembered_fields(folder: Path) -> Fields | None:
    """Return the names of the fields that a run or prepared data was made from; None if the folder does not tell."""
    try:
        return DataReport.load(folder).fields
    except DataError:
        return None


@cache
def _adapter(report: type[ReportOf]) -> TypeAdapter[ReportOf]:
    return TypeAdapter(report)


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(f"{path} must be a data report, got: {problem}; run sumpool prepare again")
