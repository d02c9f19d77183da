"""Report of an evaluation: mean scores by slice and system, with intervals and tests.

It is shown as text tables with ROUGE times 100, as CSV for spreadsheets, as a LaTeX table and as HTML. The HTML file
has no script and no remote address. Every text is escaped, and a content security policy admits nothing but the page's
own style sheet.
"""

import csv
import io
import json
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import final

import numpy as np

from sumpool.data.report import LOW_LEAK
from sumpool.errors import RecipeError
from sumpool.evaluation.rouge import TITLES, TYPES, VALIDATED, EvaluationConfig
from sumpool.evaluation.scorer import ReferenceDocument, ScoredDocument
from sumpool.evaluation.scores import SCORES, read_scores
from sumpool.evaluation.statistics import SEED, Estimate, PairedTest, compare, estimate, holm
from sumpool.io.html import escape_html, html_page
from sumpool.text.cleaning import Bold, escape_latex, guard_cell, one_line

TitledTable = tuple[Sequence[str], Sequence[Sequence[str]], str, int]
"""Column titles, the cells of each row, a title, and the number of leading columns that name a row."""
Extreme = tuple[ScoredDocument, ReferenceDocument]
"""Document with one of the best or worst summaries."""
_COLUMNS = (*TYPES, "words", "repetition", "facts", "unsupported")
"""Numbers per document and system; NaN where they are not known."""
_SCORE_COLUMNS = ("slice", "system", *TITLES.values(), "documents", "words", "repeated", "unsupported")
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
_LEVEL = 0.05
"""p-value below which a difference is marked in LaTeX."""
_STATISTICS = ("documents", "words", "repetition", "unsupported")
_TESTS = ("wins", "ties", "losses", "bootstrap", "permutation", "holm")
EXTREMES = 10
"""Documents that the report shows among the best, and among the worst."""
_SHOWN_CHARACTERS = 1500
"""Characters of a document that the report shows."""


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


@dataclass(frozen=True)
class Evaluation(ABC):
    """Result of an evaluation."""

    def to_json(self) -> str:
        """Serialize the result as JSON, unrounded."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    @abstractmethod
    def tables(self) -> "list[TitledTable]":
        """Lay out the result as tables."""

    def sentences(self) -> Sequence[str]:
        """Notes below the tables."""
        return ()

    def samples(self) -> Sequence[Sequence[str]]:
        """Texts below the tables, each as its consecutive segments."""
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
        others = [system for system in systems if system != compared]
        rows, differences = list[ReportRow](), list[Difference]()
        for slice_name, mask in masks.items():
            if not mask.any():
                continue
            tables = {system: table[mask] for system, table in systems.items()}
            scores = {system: table[:, : len(TYPES)] for system, table in tables.items()}
            estimates = estimate(np.concatenate([*scores.values()], axis=1), config.resamples)  # share the resamples
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
            if not others:
                continue
            first, second = (
                np.concatenate([scores[name] for name in each], axis=1) for each in ([compared] * len(others), others)
            )
            paired = compare(first, second, config.resamples)  # (others * types), which share the resamples too
            corrected = [holm([test.permutation for test in paired[kind :: len(TYPES)]]) for kind in range(len(TYPES))]
            differences += (
                Difference(
                    slice=slice_name,
                    system=names[compared],
                    other=names[other],
                    documents=len(first),
                    rouge=dict(zip(TYPES, paired[len(TYPES) * number :], strict=False)),
                    holm=dict(zip(TYPES, p_values, strict=True)),
                )
                for number, (other, p_values) in enumerate(zip(others, zip(*corrected, strict=True), strict=True))
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


def to_csv(report: EvaluationReport) -> str:
    """Render a report as CSV: a row per slice and system, unrounded, F1 from 0 to 1.

    Wins, ties, losses and p-values are those of the system that the others are compared with against that of the row.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    columns = ["slice", "system", *_STATISTICS]
    columns += [f"{name}{part}" for name in TYPES for part in ("", "_low", "_high")]
    writer.writerow([*columns, *(f"{name}_{test}" for name in TYPES for test in _TESTS)])
    differences = {(item.slice, item.other): item for item in report.differences}
    for row in report.rows:
        cells = [guard_cell(row.slice), guard_cell(row.system), *(getattr(row, name) for name in _STATISTICS)]
        cells += [value for name in TYPES for value in astuple(row.rouge[name])]
        named_alike = row.system == report.compared  # also a baseline named like the system
        difference = None if named_alike else differences.get((row.slice, row.system))
        if difference is None:
            cells += [""] * len(TYPES) * len(_TESTS)
        else:
            for name in TYPES:
                test = difference.rouge[name]
                cells += [test.wins, test.ties, test.losses, test.bootstrap, test.permutation, difference.holm[name]]
        writer.writerow(cells)
    return text.getvalue()


def to_latex(report: EvaluationReport) -> str:
    r"""Render a report as a LaTeX table with `\usepackage{booktabs}`: ROUGE times 100 with intervals.

    The best F1 of a slice is bold. A star marks F1 that differs from that of the system that the others are compared
    with (permutation test, Holm, p < .05).
    """
    comments, best = [*report.notes, report.signature], best_scores(report)
    if report.differences:
        tested = "tested on the slices all and low-leak"
        comments.append(f"*: differs from {report.compared}, permutation test, Holm, p < {_LEVEL}; {tested}")
    stars = {
        (item.slice, item.other, name)
        for item in report.differences
        for name, p_value in item.holm.items()
        if p_value < _LEVEL
    }
    lines = [
        *(f"% {one_line(comment)}" for comment in comments),
        r"\begin{tabular}{lrrrrr}",
        r"\toprule",
        r"System & ROUGE-1 & ROUGE-2 & ROUGE-L & ROUGE-Lsum & Words \\",
    ]
    for slice_name, rows in groupby(report.rows, key=lambda row: row.slice):
        members = list(rows)
        title = rf"\emph{{{escape_latex(slice_name)}}}, {members[0].documents} documents"
        lines += [r"\midrule", rf"\multicolumn{{6}}{{l}}{{{title}}} \\"]
        for row in members:
            scores = []
            for name, f1 in row.rouge.items():
                star = "$^*$" if (slice_name, row.system, name) in stars else ""
                interval = rf"{{\scriptsize [{100 * f1.low:.1f}, {100 * f1.high:.1f}]}}"
                mean = f"{100 * f1.mean:.1f}"
                if (slice_name, row.system, name) in best:
                    mean = rf"\textbf{{{mean}}}"
                scores.append(f"{mean}{star} {interval}")
            lines.append(rf"{escape_latex(row.system)} & {' & '.join(scores)} & {row.words:.0f} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def to_html(
    report: EvaluationReport,
    best: Sequence[Extreme],
    worst: Sequence[Extreme],
    config: EvaluationConfig,
    identity: Mapping[str, str],
    systems: Sequence[str],
) -> str:
    """Render a report.

    Args:
        report: The report.
        best: Documents with the best summaries, the best first.
        worst: Documents with the worst summaries, the worst first.
        config: Settings of the evaluation.
        identity: Origin of the summaries, such as the SHA-256 of the model and the settings of its search.
        systems: Names of the evaluated systems for the title.
    """
    title = f"Evaluation of {', '.join(systems)}"
    tables = "\n".join(
        _table(caption or "Scores", columns, rows, names) for columns, rows, caption, names in report.tables() if rows
    )
    good, bad = ("\n".join(map(_article, extremes)) or "<p>None.</p>" for extremes in (best, worst))
    settings = {**identity, **{f"evaluate.{name}": _shown(value) for name, value in config}}
    body = f"""<main>
<h1>{escape_html(title)}</h1>
<p>{report.documents:,} documents. F1 times 100, mean over documents with its 95 % interval.</p>
{tables}
<h2>Best documents</h2>
<p class="note">Ranked by the mean of ROUGE-1, ROUGE-2 and ROUGE-Lsum.</p>
{good}
<h2>Worst documents</h2>
{bad}
<h2>Settings</h2>
<dl>{"".join(f"<dt>{escape_html(name)}</dt><dd>{escape_html(value)}</dd>" for name, value in settings.items())}</dl>
</main>
<footer>
{"".join(f"<p>{escape_html(line)}</p>" for line in (*report.notes, report.signature))}
</footer>"""
    return html_page(title, body, files("sumpool.evaluation").joinpath("report.css").read_text("utf-8"))


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> str:
    """Lay out a table, of which the first columns name a row."""
    css = ' class="name"'
    head = "".join(
        f'<th scope="col"{css if number < names else ""}>{escape_html(column)}</th>'
        for number, column in enumerate(columns)
    )
    lines = []
    for row in rows:
        cells = [f'<th scope="row"{css}>{escape_html(cell)}</th>' for cell in row[:names]]
        for cell in row[names:]:
            best = ' class="best"' if isinstance(cell, Bold) else ""
            cells.append(f"<td{best}>{escape_html(cell)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape_html(caption)}">\n<table>'
        f"<caption>{escape_html(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _article(extreme: Extreme) -> str:
    scored, reference = extreme
    rouge = scored.systems["model"].rouge
    scores = ", ".join(f"{title} {100 * rouge[name].f1:.1f}" for name, title in TITLES.items())
    source = ""
    if reference.document is not None:
        ellipsis = " …" if len(reference.document) > _SHOWN_CHARACTERS else ""
        source = (
            "<details><summary>Beginning of the document</summary>"
            f'<p dir="auto">{escape_html(reference.document[:_SHOWN_CHARACTERS])}{ellipsis}</p></details>'
        )
    return f"""<article>
<h3><bdi>{escape_html(scored.id)}</bdi></h3>
<p class="note">{scores}</p>
<div class="pair">
<div><h4>Summary</h4><p dir="auto">{escape_html(scored.summary) or "<em>empty</em>"}</p></div>
<div><h4>Reference</h4><p dir="auto">{escape_html(reference.reference) or "<em>empty</em>"}</p></div>
</div>
{source}
</article>"""


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def read_extremes(
    folder: Path, references: Iterable[ReferenceDocument], count: int
) -> tuple[list[Extreme], list[Extreme]]:
    """Read the documents with the best and with the worst summaries in a folder of results, the extreme ones first.

    Args:
        folder: The folder.
        references: The documents with their references, for the texts.
        count: Number of documents among the best, and among the worst; fewer if there are fewer documents.

    Raises:
        DataError: If the scores are damaged.
    """
    scores = {scored.id: scored for scored in read_scores(folder / SCORES)}
    means = {id: fmean(scored.systems["model"].rouge[name].f1 for name in VALIDATED) for id, scored in scores.items()}
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    count = min(count, (len(means) + 1) // 2)
    best, worst = ranked[:count], ranked[count:][::-1][:count]
    shown = {*best, *worst}
    texts = {reference.id: (scores[reference.id], reference) for reference in references if reference.id in shown}
    return [texts[id] for id in best if id in texts], [texts[id] for id in worst if id in texts]
