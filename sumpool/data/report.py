"""The data report: what is in the data, for the terminal and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from sumpool.data.document_stats import DocumentStats
from sumpool.data.sources._base import SPLITS, Split
from sumpool.errors import DataError

NAME = "report.json"
LONG = 8192
"""Tokens; the report says what share of the documents is longer."""
LOW_LEAK = 0.2
"""Below this share of 8-grams in common with its document, a summary counts as low-leak."""

_Row = tuple[str, Callable[["SplitReport"], str]]


@dataclass(frozen=True)
class Spread:
    """How a length is distributed; all zero if there is none."""

    mean: float
    p10: float
    p50: float
    p90: float
    max: int

    @classmethod
    def of(cls, values: Sequence[int]) -> "Spread":
        """Sum up lengths."""
        if not values:
            return cls(0, 0, 0, 0, 0)
        p10, p50, p90 = (float(value) for value in np.percentile(values, (10, 50, 90)))
        return cls(float(np.mean(values)), p10, p50, p90, max(values))


@dataclass(frozen=True)
class SplitReport:
    """What is in a split.

    Attributes:
        documents: How many.
        document_words: Lengths of the documents, in words between spaces.
        document_tokens: Lengths of the documents, in pieces of the vocabulary.
        summary_words: Lengths of the summaries, in words between spaces.
        summary_tokens: Lengths of the summaries, in pieces, their ends not counted.
        long_documents: Share of the documents with more than 8192 tokens.
        compression: Mean of words of the document per word of its summary.
        coverage: Mean share of a summary's words in fragments of its document (Grusky et al., 2018).
        density: Mean length of the fragment that a word of a summary belongs to, in words.
        novel_ngrams: Mean share of a summary's n-grams that its document lacks, for n = 1 to 4.
        leak: Mean share of a summary's 8-grams that stand in its document.
        low_leak: Share of the documents with less than a fifth of the summary's 8-grams.
        duplicates: Documents whose text came before in the same split.
        in_training: Documents whose text is also in the training split; 0 for the training split itself.
        runs_in_training: Share of a sample of the documents' runs of 13 words that the training documents hold;
            None for the training split.
    """

    documents: int
    document_words: Spread
    document_tokens: Spread
    summary_words: Spread
    summary_tokens: Spread
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


@dataclass(frozen=True)
class DataReport:
    """What was read, kept and found.

    Attributes:
        read: Rows of the source; always kept + rejected.
        kept: Documents in the splits.
        rejected: Rows that could not be used; `rejects.jsonl` says which and why.
        vocabulary: Pieces of the vocabulary.
        splits: What is in each split.
        notes: What was guessed or changed, in sentences.
    """

    read: int
    kept: int
    rejected: int
    vocabulary: int
    splits: Mapping[Split, SplitReport]
    notes: tuple[str, ...]

    def save(self, folder: Path) -> None:
        """Write the report into a prepared folder."""
        (folder / NAME).write_bytes(_ADAPTER.dump_json(self, indent=1) + b"\n")

    @classmethod
    def load(cls, folder: Path) -> "DataReport":
        """Read the report of a prepared folder.

        Raises:
            DataError: If it is missing or no report.
        """
        path = folder / NAME
        try:
            return _ADAPTER.validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise DataError(f"{path} must be a data report, got: {error}; run sumpool prepare again") from error

    def rows(self) -> list[tuple[str, ...]]:
        """The report as a table: a heading, then a row of words for each figure."""
        splits = [self.splits[split] for split in SPLITS]
        heading = ("", *SPLITS)
        return [heading, *((label, *map(show, splits)) for label, show in _ROWS)]


def summarize_split(
    figures: Sequence[DocumentStats], training: Sequence[int], runs_in_training: float | None
) -> SplitReport:
    """Make the report of a split.

    Args:
        figures: Figures of its documents.
        training: Digests of the training documents' texts; none for the training split itself.
        runs_in_training: Share of the sampled runs that the training documents hold.
    """
    digests = [document.digest for document in figures]
    known = set(training)
    return SplitReport(
        documents=len(figures),
        document_words=Spread.of([document.document_words for document in figures]),
        document_tokens=Spread.of([document.document_tokens for document in figures]),
        summary_words=Spread.of([document.summary_words for document in figures]),
        summary_tokens=Spread.of([document.summary_tokens for document in figures]),
        long_documents=_mean([document.document_tokens > LONG for document in figures]),
        compression=_mean([document.document_words / document.summary_words for document in figures]),
        coverage=_mean([document.coverage for document in figures]),
        density=_mean([document.density for document in figures]),
        novel_ngrams=tuple(_mean(shares) for shares in zip(*(document.novel for document in figures), strict=True)),
        leak=_mean([document.leak for document in figures]),
        low_leak=_mean([document.leak < LOW_LEAK for document in figures]),
        duplicates=len(digests) - len(set(digests)),
        in_training=sum(digest in known for digest in digests),
        runs_in_training=runs_in_training,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _shares(shares: Sequence[float]) -> str:
    return " / ".join(f"{100 * share:.0f}" for share in shares) + " %" if shares else "-"


def _length(label: str, spread: Callable[[SplitReport], Spread]) -> tuple[_Row, ...]:
    """Rows for a length: its mean, where most of it lies, and its end."""

    def tenths(split: SplitReport) -> str:
        found = spread(split)
        return f"{found.p10:,.0f} / {found.p50:,.0f} / {found.p90:,.0f}"

    return (
        (f"{label}, mean", lambda split: f"{spread(split).mean:,.0f}"),
        ("  10 % / half / 90 % have at most", tenths),
        ("  longest", lambda split: f"{spread(split).max:,}"),
    )


_ROWS: tuple[_Row, ...] = (
    ("documents", lambda split: f"{split.documents:,}"),
    *_length("words of a document", lambda split: split.document_words),
    *_length("tokens of a document", lambda split: split.document_tokens),
    (f"documents over {LONG:,} tokens", lambda split: _share(split.long_documents)),
    *_length("words of a summary", lambda split: split.summary_words),
    *_length("tokens of a summary", lambda split: split.summary_tokens),
    ("words of document per word of summary", lambda split: f"{split.compression:,.1f}"),
    ("extractive coverage", lambda split: _share(split.coverage)),
    ("extractive density, words", lambda split: f"{split.density:.1f}"),
    ("novel 1- / 2- / 3- / 4-grams", lambda split: _shares(split.novel_ngrams)),
    ("summary's 8-grams in its document", lambda split: _share(split.leak)),
    (f"documents with under {LOW_LEAK:.0%} of them", lambda split: _share(split.low_leak)),
    ("texts that came before", lambda split: f"{split.duplicates:,}"),
    ("texts that training has too", lambda split: f"{split.in_training:,}"),
    ("13-grams that training has too", lambda split: _share(split.runs_in_training)),
)

_ADAPTER = TypeAdapter(DataReport)
