"""Summaries that a model generates during training, and alarms about those that repeat, are empty or copy a passage."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sumpool.data.sources._base import Example
from sumpool.evaluation.abstractiveness import repetition
from sumpool.text.fragments import overlap
from sumpool.text.words import split_words

MAX_REPETITION = 0.2
"""Fraction of repeated trigrams above which a summary is degenerate; 1 % in those of a trained model."""
MAX_COPIED = 0.9
"""Fraction of the words that one passage of the document may make up, unless it does so in the reference."""
MIN_WORDS = 10
"""Words of a summary below which a copied passage tells nothing."""
_ALARM_SHARE = 0.5
"""Fraction of the summaries that raises an alarm."""


@dataclass(frozen=True)
class GeneratedSummary:
    """A summary that was generated during training.

    Attributes:
        id: Id of the document.
        summary: The summary.
        repeated: Fraction of trigrams that occurred earlier in the summary.
        copied: Fraction of the words in the longest passage that the document contains too.
        novel_bigrams: Fraction of bigrams that the document lacks.
        reference_copied: The fraction `copied` of the reference summary.
    """

    id: str
    summary: str
    repeated: float
    copied: float
    novel_bigrams: float
    reference_copied: float

    @property
    def faults(self) -> list[str]:
        """Faults of the summary, as clauses about several of them."""
        if not self.summary.strip():
            return ["are empty"]
        faults = []
        if self.repeated > MAX_REPETITION:
            faults.append(f"repeat themselves: more than {MAX_REPETITION:.0%} of their trigrams occur twice")
        is_long = len(split_words(self.summary)) >= MIN_WORDS
        if is_long and self.copied > MAX_COPIED >= self.reference_copied:
            faults.append("are one passage of the document, copied whole, unlike the references")
        return faults

    def to_record(self) -> Mapping[str, str | float]:
        """Return the record of the summary in a log of samples."""
        return {
            "id": self.id,
            "summary": self.summary,
            "repeated": round(self.repeated, 4),
            "copied": round(self.copied, 4),
            "novel_bigrams": round(self.novel_bigrams, 4),
        }


def examine(example: Example, summary: str) -> GeneratedSummary:
    """Compare a generated summary with its document."""
    document, generated, reference = map(split_words, (example.document, summary, example.summary))
    shared = overlap(document, generated)
    return GeneratedSummary(
        id=example.id,
        summary=summary,
        repeated=repetition(summary),
        copied=_longest(shared.runs),
        novel_bigrams=shared.novel_ngrams(2),
        reference_copied=_longest(overlap(document, reference).runs),
    )


def alarms(summaries: Sequence[GeneratedSummary]) -> Iterator[str]:
    """Warn of every fault that half of the summaries have."""
    counts: dict[str, int] = {}
    for summary in summaries:
        for fault in summary.faults:
            counts[fault] = counts.get(fault, 0) + 1
    for fault, count in counts.items():
        if count >= _ALARM_SHARE * len(summaries):
            yield f"warning: {count} of {len(summaries)} generated summaries {fault}"


def _longest(runs: Sequence[int]) -> float:
    return max(runs, default=0) / max(len(runs), 1)
