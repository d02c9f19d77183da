"""From figures of each document to one table: slices, systems, intervals, tests."""

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import Measures, ScoredDocument
from sumpool.evaluation.slices import slices
from sumpool.evaluation.statistics import SEED, Estimate, Floats, PairedTest, compare, estimate

_TITLES = (
    "slice",
    "documents",
    "system",
    "ROUGE-1",
    "ROUGE-2",
    "ROUGE-L",
    "ROUGE-Lsum",
    "words",
    "repeated",
    "unfounded",
    "p vs LEAD",
)


@dataclass(frozen=True)
class ReportRow:
    """A system on a slice of the documents.

    Attributes:
        slice: "all", or "low-leak": references that were not copied from the document.
        system: Name of the system.
        documents: Documents of the slice.
        rouge: Mean F1 from 0 to 1 with its 95 % interval, by name ("rouge1", "rouge2", "rougeL", "rougeLsum").
        words: Mean length, in words.
        repetition: Mean share of repeated runs of three words.
        coverage: Mean share of words that stand in fragments of the document; None without documents.
        density: Mean length of such a fragment, in words; None without documents.
        novel_bigrams: Mean share of pairs of words that the document lacks; None without documents.
        unfounded: Share of all numbers and names that the document lacks; None without documents, or without any.
        against_lead: How far it is above LEAD, by name; empty for LEAD itself and without documents.
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
    unfounded: float | None
    against_lead: Mapping[str, PairedTest]


@dataclass(frozen=True)
class EvaluationReport:
    """What an evaluation found.

    Attributes:
        rows: One for each slice and system, the judged one first.
        signature: Every setting behind the figures, in a line.
        documents: Documents scored.
        notes: What a reader should know before trusting the figures.
        differences: To another system, slice by slice, where one was named.
    """

    rows: tuple[ReportRow, ...]
    signature: str
    documents: int
    notes: tuple[str, ...]
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> str:
        """Write the report as JSON, figures unrounded."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Titles and cells as the terminal shows them: ROUGE times 100, p of ROUGE-1 and of -Lsum."""
        return _TITLES, [_cells(row) for row in self.rows]


class Figures:
    """The figures of every document scored so far, and nothing else of them: some 400 bytes a document."""

    def __init__(self) -> None:
        self._columns: dict[str, array[float]] = {}
        self._leaks = array("d")
        self._shares_read = array("d")
        self._invisible = 0
        self._empty = 0

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ())) // _WIDTH

    def add(self, scored: ScoredDocument) -> None:
        """Take in a document."""
        for system, measures in scored.systems.items():
            self._columns.setdefault(system, array("d")).extend(_line(measures))
        self._leaks.append(np.nan if scored.leak is None else scored.leak)
        if scored.share_read is not None:
            self._shares_read.append(scored.share_read)
        self._invisible += not scored.visible
        self._empty += not scored.systems["model"].words

    def report(
        self, config: EvaluationConfig, names: Mapping[str, str], signature: str, notes: Sequence[str] = ()
    ) -> EvaluationReport:
        """Draw up the table.

        Args:
            config: Settings.
            names: What the systems are called.
            signature: What the figures of a document depend on.
            notes: What else a reader should know.
        """
        systems = {system: np.array(values).reshape(-1, _WIDTH) for system, values in self._columns.items()}
        rows: list[ReportRow] = []
        for title, members in slices(self._leaks, config.low_leak).items():
            lead = systems["lead"][members] if "lead" in systems else None
            for system, values in systems.items():
                tested = lead if system != "lead" else None
                rows.append(_row(title, names[system], values[members], tested, config.resamples))
        drawn = f"interval:95 %, bootstrap, {config.resamples} resamples, seed {SEED} | p:paired permutation"
        return EvaluationReport(tuple(rows), f"{signature} | {drawn}", len(self), (*notes, *self._notes()))

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
        if self._invisible:
            notes.append(f"{self._invisible} of {len(self)} references have no word of a-z or 0-9, so their ROUGE is 0")
        return notes


_WIDTH = len(TYPES) + 7


def _line(measures: Measures) -> list[float]:
    copying = measures.copying
    copied = [float("nan")] * 5
    if copying:
        copied = [copying.coverage, copying.density, copying.novel_bigrams, copying.facts, copying.unfounded]
    return [*(measures.rouge[name].f1 for name in TYPES), measures.words, measures.repetition, *copied]


def _row(title: str, system: str, values: Floats, lead: Floats | None, resamples: int) -> ReportRow:
    scores = values[:, : len(TYPES)]
    words, repetition, *copied = map(float, values[:, len(TYPES) :].mean(axis=0))
    coverage, density, novel_bigrams, facts, unfounded = (None if np.isnan(value) else value for value in copied)
    against = compare(scores, lead[:, : len(TYPES)], resamples, SEED) if lead is not None else []
    return ReportRow(
        slice=title,
        system=system,
        documents=len(values),
        rouge=dict(zip(TYPES, estimate(scores, resamples, SEED), strict=True)),
        words=words,
        repetition=repetition,
        coverage=coverage,
        density=density,
        novel_bigrams=novel_bigrams,
        unfounded=unfounded / facts if facts and unfounded is not None else None,
        against_lead=dict(zip(TYPES, against, strict=False)),
    )


def _cells(row: ReportRow) -> tuple[str, ...]:
    scores = [f"{100 * each.mean:.1f} [{100 * each.low:.1f}, {100 * each.high:.1f}]" for each in row.rouge.values()]
    tested = [row.against_lead[name].permutation for name in ("rouge1", "rougeLsum") if name in row.against_lead]
    return (
        row.slice,
        f"{row.documents:,}",
        row.system,
        *scores,
        f"{row.words:.0f}",
        f"{100 * row.repetition:.1f} %",
        "" if row.unfounded is None else f"{100 * row.unfounded:.1f} %",
        " / ".join(f"{p:.3f}" for p in tested),
    )
