"""Report of an evaluation: mean scores by slice and system, with intervals and tests."""

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sumpool.evaluation.config import EvaluationConfig, slices
from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ScoredDocument, SummaryMetrics
from sumpool.evaluation.statistics import SEED, Estimate, Floats, PairedTest, compare, estimate

_COLUMNS = (
    "slice",
    "system",
    "ROUGE-1",
    "ROUGE-2",
    "ROUGE-L",
    "ROUGE-Lsum",
    "documents",
    "words",
    "repeated",
    "unsupported",
    "p vs LEAD (1 / Lsum)",
)


@dataclass(frozen=True)
class ReportRow:
    """Mean scores of a system on a slice of the documents.

    Attributes:
        slice: "all", or "low-leak" (references that are not copied from the document).
        system: Name of the system.
        documents: Number of documents of the slice.
        rouge: Mean F1 from 0 to 1 with its 95 % interval, by name ("rouge1", "rouge2", "rougeL", "rougeLsum").
        words: Mean length, in words.
        repetition: Mean fraction of repeated trigrams.
        coverage: Mean fraction of words in fragments shared with the document; None without documents.
        density: Mean length of such a fragment, in words; None without documents.
        novel_bigrams: Mean fraction of bigrams that do not occur in the document; None without documents.
        unsupported: Fraction of all numbers and names that do not occur in the document; None without documents or
            without any numbers and names.
        against_lead: Comparison with LEAD, by name; empty for LEAD itself and without documents.
    """

    slice: str
    system: str
    documents: int
    rouge: Mapping[str, Estimate]
    words: float
    repetition: float
    coverage: float | None
    density: float | None
    novel_bigrams: float | None
    unsupported: float | None
    against_lead: Mapping[str, PairedTest]


@dataclass(frozen=True)
class EvaluationReport:
    """Results of an evaluation.

    Attributes:
        rows: One row per slice and system, the evaluated system first.
        signature: All settings that the scores depend on, in one line.
        documents: Number of scored documents.
        notes: Caveats: truncated documents, empty summaries, missing documents.
        differences: Differences to another system by slice, if one was given.
    """

    rows: tuple[ReportRow, ...]
    signature: str
    documents: int
    notes: tuple[str, ...]
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> str:
        """Serialize the report as JSON, unrounded."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return column titles and cells; ROUGE times 100, and p-values of ROUGE-1 and ROUGE-Lsum."""
        return _COLUMNS, [_cells(row) for row in self.rows]


class ScoreAggregator:
    """Scores of all documents so far, some 400 bytes per document."""

    def __init__(self) -> None:
        self._values: dict[str, array[float]] = {}
        self._leaks = array("d")
        self._shares_read = array("d")
        self._unscorable = 0
        self._empty = 0

    def __len__(self) -> int:
        return len(self._leaks)

    def add(self, scored: ScoredDocument) -> None:
        """Add a document."""
        for system, metrics in scored.systems.items():
            self._values.setdefault(system, array("d")).extend(_to_row(metrics))
        self._leaks.append(np.nan if scored.leak is None else scored.leak)
        if scored.share_read is not None:
            self._shares_read.append(scored.share_read)
        self._unscorable += not scored.scorable
        self._empty += not scored.systems["model"].words

    def report(
        self, config: EvaluationConfig, names: Mapping[str, str], signature: str, notes: Sequence[str] = ()
    ) -> EvaluationReport:
        """Aggregate the scores into a report, with the displayed names of the systems."""
        systems = {system: np.array(values).reshape(-1, _WIDTH) for system, values in self._values.items()}
        rows: list[ReportRow] = []
        for slice_name, members in slices(self._leaks, config.low_leak).items():
            lead = systems["lead"][members] if "lead" in systems else None
            for system, values in systems.items():
                baseline = lead if system != "lead" else None
                rows.append(_aggregate(slice_name, names[system], values[members], baseline, config.resamples))
        resampling = f"interval:95 %, bootstrap, {config.resamples} resamples, seed {SEED} | p:paired permutation"
        return EvaluationReport(tuple(rows), f"{signature} | {resampling}", len(self), (*notes, *self._notes()))

    def _notes(self) -> list[str]:
        notes = []
        if len(self) and np.isnan(self._leaks).all():
            notes.append("documents are not known: no baselines, no low-leak slice")
        shares = np.array(self._shares_read)
        if (shares < 1).any():
            notes.append(
                f"{(shares < 1).sum()} of {len(self)} documents are longer than the model reads; "
                f"it read {shares.mean():.0%} of a document on average"
            )
        if self._empty:
            notes.append(f"{self._empty} of {len(self)} summaries are empty")
        if self._unscorable:
            notes.append(
                f"{self._unscorable} of {len(self)} references have no word of a-z or 0-9, so their ROUGE is 0"
            )
        return notes


_WIDTH = len(TYPES) + 7


def _to_row(metrics: SummaryMetrics) -> list[float]:
    copying = metrics.copying
    copied = [float("nan")] * 5
    if copying:
        copied = [copying.coverage, copying.density, copying.novel_bigrams, copying.facts, copying.unsupported]
    return [*(metrics.rouge[name].f1 for name in TYPES), metrics.words, metrics.repetition, *copied]


def _aggregate(slice_name: str, system: str, values: Floats, lead: Floats | None, resamples: int) -> ReportRow:
    scores = values[:, : len(TYPES)]
    words, repetition, *copied = map(float, values[:, len(TYPES) :].mean(axis=0))
    coverage, density, novel_bigrams, facts, unsupported = (None if np.isnan(mean) else mean for mean in copied)
    against = compare(scores, lead[:, : len(TYPES)], resamples, SEED) if lead is not None else []
    return ReportRow(
        slice=slice_name,
        system=system,
        documents=len(values),
        rouge=dict(zip(TYPES, estimate(scores, resamples, SEED), strict=True)),
        words=words,
        repetition=repetition,
        coverage=coverage,
        density=density,
        novel_bigrams=novel_bigrams,
        unsupported=unsupported / facts if facts and unsupported is not None else None,
        against_lead=dict(zip(TYPES, against, strict=False)),
    )


def _cells(row: ReportRow) -> tuple[str, ...]:
    scores = [f"{100 * f1.mean:.1f} [{100 * f1.low:.1f}, {100 * f1.high:.1f}]" for f1 in row.rouge.values()]
    p_values = [row.against_lead[name].permutation for name in ("rouge1", "rougeLsum") if name in row.against_lead]
    return (
        row.slice,
        row.system,
        *scores,
        f"{row.documents:,}",
        f"{row.words:.0f}",
        f"{100 * row.repetition:.1f} %",
        "" if row.unsupported is None else f"{100 * row.unsupported:.1f} %",
        " / ".join(f"{p:.3f}" for p in p_values),
    )
