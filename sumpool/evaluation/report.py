"""Report of an evaluation: mean scores by slice and system, with intervals and tests; tables have ROUGE times 100."""

import json
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import final

import numpy as np

from sumpool.errors import RecipeError
from sumpool.evaluation.rouge import TYPES, EvaluationConfig
from sumpool.evaluation.scorer import ScoredDocument
from sumpool.evaluation.statistics import SEED, Estimate, Floats, PairedTest, compare, estimate, holm
from sumpool.text.cleaning import Bold
from sumpool.text.fragments import LOW_LEAK

TitledTable = tuple[Sequence[str], Sequence[Sequence[str]], str, int]
"""Column titles, the cells of each row, a title, and the number of leading columns that name a row."""
_COLUMNS = (*TYPES, "words", "repetition", "facts", "unsupported")
"""Numbers per document and system; NaN where they are not known."""
_SCORE_COLUMNS = (
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
)
_WIN_COLUMNS = (
    "compared with",
    "ROUGE-1",
    "ROUGE-Lsum",
    "won/tied/lost (1)",
    "won/tied/lost (Lsum)",
    "p bootstrap",
    "p permuted",
    "p Holm",
)
_TESTED = ("rouge1", "rougeLsum")
"""Scores whose tests are shown."""


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
        unsupported: Fraction of all numbers and names that do not occur in the document; None without documents or
            without any numbers and names.
    """

    slice: str
    system: str
    documents: int
    rouge: Mapping[str, Estimate]
    words: float
    repetition: float
    unsupported: float | None


@dataclass(frozen=True)
class Difference:
    """Difference of two systems on a slice of the documents that both summarised.

    Attributes:
        slice: "all", or "low-leak" (references that are not copied from the document).
        system: Name of the system.
        other: Name of the system that it is compared with.
        documents: Number of documents of the slice.
        rouge: Mean difference of F1 with its 95 % interval and paired tests, by name.
        holm: p-value of the permutation test by name, corrected for the number of compared pairs.
    """

    slice: str
    system: str
    other: str
    documents: int
    rouge: Mapping[str, PairedTest]
    holm: Mapping[str, float]


class Evaluation(ABC):
    """Result of an evaluation."""

    @abstractmethod
    def to_json(self) -> str:
        """Serialize the result as JSON, unrounded."""

    @abstractmethod
    def tables(self) -> "list[TitledTable]":
        """Lay out the result as tables."""

    def sentences(self) -> Sequence[str]:
        """Notes below the tables."""
        return ()


@dataclass(frozen=True)
class EvaluationReport(Evaluation):
    """Results of an evaluation.

    Attributes:
        rows: One row per slice and system, the evaluated systems first.
        signature: All settings that the scores depend on, in one line.
        documents: Number of scored documents.
        notes: Caveats: truncated documents, empty summaries, missing documents.
        differences: One system, by default the first one, compared with every other row, by slice.
    """

    rows: tuple[ReportRow, ...]
    signature: str
    documents: int
    notes: tuple[str, ...]
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> str:
        """Serialize the report as JSON, unrounded."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    @property
    def compared(self) -> str:
        """Name of the system that the others are compared with; empty if there are no others."""
        return self.differences[0].system if self.differences else ""

    def tables(self) -> list[TitledTable]:
        """Lay out the tables that have rows; the scores in any case."""
        title = f"{self.compared} minus other systems, on each document"
        tables: list[TitledTable] = [(*score_table(self), "", 2), (*win_table(self), title, 1)]
        return [table for table in tables if table[1] or not table[2]]

    def sentences(self) -> Sequence[str]:
        """Notes and the signature of the scores."""
        return [*self.notes, self.signature]


def best_scores(report: EvaluationReport) -> set[tuple[str, str, str]]:
    """Slice, system and score of the best to a tenth of a point; the oracle, an upper bound, does not compete."""
    highest: dict[tuple[str, str], float] = {}
    scores = [
        (row.slice, row.system, name, round(100 * f1.mean, 1))
        for row in report.rows
        if not row.system.startswith("oracle-")
        for name, f1 in row.rouge.items()
    ]
    for part, _, name, score in scores:
        highest[part, name] = max(score, highest.get((part, name), 0.0))
    return {(part, system, name) for part, system, name, score in scores if score == highest[part, name]}


def score_table(report: EvaluationReport) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Scores of all systems by slice."""
    rows, best = list[tuple[str, ...]](), best_scores(report)
    for row in report.rows:
        unsupported = "" if row.unsupported is None else f"{100 * row.unsupported:.1f} %"
        form = (f"{row.documents:,}", f"{row.words:.0f}", f"{100 * row.repetition:.1f} %", unsupported)
        scores = (
            Bold(_interval(f1)) if (row.slice, row.system, name) in best else _interval(f1)
            for name, f1 in row.rouge.items()
        )
        rows.append((row.slice, row.system, *scores, *form))
    return _SCORE_COLUMNS, rows


def win_table(report: EvaluationReport) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """One system compared with every other on all documents: differences, wins, ties, losses, and p-values."""
    rows: list[tuple[str, ...]] = []
    for difference in report.differences:
        if difference.slice == "all":
            tests = [difference.rouge[name] for name in _TESTED]
            rows.append(
                (
                    difference.other,
                    *(_interval(test.difference, "+") for test in tests),
                    *(f"{test.wins:,}/{test.ties:,}/{test.losses:,}" for test in tests),
                    _p_values([test.bootstrap for test in tests]),
                    _p_values([test.permutation for test in tests]),
                    _p_values([difference.holm[name] for name in _TESTED]),
                )
            )
    return _WIN_COLUMNS, rows


def _interval(estimate: Estimate, sign: str = "") -> str:
    mean, low, high = (f"{100 * value:{sign}.1f}" for value in (estimate.mean, estimate.low, estimate.high))
    return f"{mean} [{low}, {high}]"


def _p_values(values: Sequence[float]) -> str:
    return " / ".join(f"{p:.3f}" for p in values)


@final
class ScoreAggregator:
    """Scores of all documents so far, about a kilobyte per document.

    Attributes:
        ids: Index of each document by its ID.
    """

    def __init__(self) -> None:
        self._values: dict[str, array[float]] = {}
        self.ids: dict[str, int] = {}
        self._leaks = array("d")
        self._shares_read = array("d")
        self._modes: Counter[str] = Counter()
        self._unscorable = 0
        self._empty = 0

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, scored: ScoredDocument) -> None:
        """Add a document."""
        for system, metrics in scored.systems.items():
            copied = (metrics.copying.facts, metrics.copying.unsupported) if metrics.copying else (np.nan, np.nan)
            row = (*(metrics.rouge[name].f1 for name in TYPES), metrics.words, metrics.repetition, *copied)
            self._values.setdefault(system, array("d")).extend(row)
        self.ids[scored.id] = len(self.ids)
        self._leaks.append(np.nan if scored.leak is None else scored.leak)
        if scored.share_read is not None:
            self._shares_read.append(scored.share_read)
        self._modes[scored.mode] += 1
        self._unscorable += not scored.scorable
        self._empty += not scored.systems["model"].words

    def report(
        self,
        config: EvaluationConfig,
        names: Mapping[str, str],
        signature: str,
        notes: Sequence[str] = (),
        against: str = "",
    ) -> EvaluationReport:
        """Aggregate the scores into a report.

        Args:
            config: The settings.
            names: Displayed names of the systems, in the order of the report.
            signature: Settings of the scores.
            notes: Notes that precede those on the scores.
            against: Displayed name of the system that the others are compared with; by default the first one.

        Raises:
            RecipeError: If there is no such system.
        """
        values = {system: np.array(each).reshape(-1, len(_COLUMNS)) for system, each in self._values.items()}
        systems = {system: values[system] for system in names if system in values}
        compared = next((system for system in systems if names[system] == against), "" if against else "model")
        if not compared:
            listed = ", ".join(names[system] for system in systems)
            raise RecipeError(f"--against must be a row of the table ({listed}), got {against}")
        leaks = np.asarray(self._leaks)  # NaN where a document is not known
        masks = {"all": np.ones(len(leaks), dtype=bool), "low-leak": leaks < LOW_LEAK}
        pairs = [(compared, system) for system in systems if system != compared]
        rows, differences = list[ReportRow](), list[Difference]()
        for slice_name, mask in masks.items():
            if mask.any():
                tables = {system: table[mask] for system, table in systems.items()}
                scores = {system: table[:, : len(TYPES)] for system, table in tables.items()}
                estimates = estimate(
                    np.concatenate([*scores.values()], axis=1), config.resamples
                )  # share the resamples
                for number, (system, table) in enumerate(tables.items()):
                    means = dict(zip(_COLUMNS, table.mean(axis=0).tolist(), strict=True))
                    rows.append(
                        ReportRow(
                            slice=slice_name,
                            system=names[system],
                            documents=len(table),
                            rouge=dict(zip(TYPES, estimates[len(TYPES) * number :], strict=False)),
                            words=means["words"],
                            repetition=means["repetition"],
                            unsupported=means["unsupported"] / means["facts"] if means["facts"] > 0 else None,
                        )
                    )
                differences += (
                    replace(difference, system=names[difference.system], other=names[difference.other])
                    for difference in compare_systems(slice_name, scores, pairs, config.resamples)
                )
        found = []
        if len(self) and np.isnan(self._leaks).all():
            found.append("documents are not known: no baselines, no low-leak slice")
        shares = np.array(self._shares_read)
        if (shares < 1).any():
            found.append(
                f"{(shares < 1).sum()} of {len(self)} documents are longer than the model reads; "
                f"it read {shares.mean():.0%} of a document on average"
            )
        if self._modes["extractive"]:
            written = self._modes["abstractive"]
            found.append(
                f"{written} of {len(self)} summaries ({written / len(self):.0%}) are abstractive, the others are "
                "sentences of the document"
            )
        if self._empty:
            found.append(f"{self._empty} of {len(self)} summaries are empty")
        if self._unscorable:
            found.append(
                f"{self._unscorable} of {len(self)} references have no word of a-z or 0-9, so their ROUGE is 0; other "
                "scripts need evaluate.tokenizer=unicode"
            )
        tests = "p:paired bootstrap, paired permutation, Holm over the pairs of a slice"
        resampling = f"interval:95 %, bootstrap, {config.resamples} resamples, seed {SEED} | {tests}"
        return EvaluationReport(
            rows=tuple(rows),
            signature=f"{signature} | {resampling}",
            documents=len(self),
            notes=(*notes, *found),
            differences=tuple(differences),
        )


def compare_systems(
    slice_name: str, systems: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], resamples: int
) -> list[Difference]:
    """Compare pairs of systems, each given as F1 (documents, types); all pairs share the resamples.

    Args:
        slice_name: Name of the slice that the documents are.
        systems: Scores of each system on the same documents.
        pairs: Names of the compared systems.
        resamples: Number of resamples of each test.
    """
    if not pairs:
        return []
    first, second = (np.concatenate([systems[name] for name in names], axis=1) for names in zip(*pairs, strict=True))
    tests = compare(first, second, resamples)  # (pairs * types)
    by_pair = [tests[start : start + len(TYPES)] for start in range(0, len(tests), len(TYPES))]
    corrected = [holm([test.permutation for test in column]) for column in zip(*by_pair, strict=True)]  # (types, pairs)
    return [
        Difference(
            slice=slice_name,
            system=system,
            other=other,
            documents=len(first),
            rouge=dict(zip(TYPES, pair_tests, strict=True)),
            holm=dict(zip(TYPES, p_values, strict=True)),
        )
        for (system, other), pair_tests, p_values in zip(pairs, by_pair, zip(*corrected, strict=True), strict=True)
    ]
