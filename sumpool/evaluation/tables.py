"""Report of an evaluation as text tables with ROUGE times 100, as CSV for spreadsheets, and as a LaTeX table."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import astuple
from itertools import groupby

from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.report import EvaluationReport, TitledTable
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.statistics import Estimate
from sumpool.text.cleaning import IGNORABLE
from sumpool.text.escaping import Bold

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Column titles, and the cells of each row."""

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

_FORMULA = re.compile(r"^[=+\-@\t\r\n]")
"""Beginning of a cell that a spreadsheet would run as a formula."""
_CONTROL = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{IGNORABLE}]+")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}
_LEVEL = 0.05
"""p-value below which a difference is marked in LaTeX."""
_STATISTICS = ("documents", "words", "repetition", "unsupported")
_TESTS = ("wins", "ties", "losses", "bootstrap", "permutation", "holm")


def report_tables(report: EvaluationReport) -> list[TitledTable]:
    """Lay out the tables of a report that have rows; the scores in any case."""
    named = [
        (*score_table(report), "", 2),
        (*win_table(report), f"{compared_system(report)} minus other systems, on each document", 1),
    ]
    return [table for table in named if table[1] or not table[2]]


def compared_system(report: EvaluationReport) -> str:
    """Name of the system that the others are compared with; empty if there are no others."""
    return report.differences[0].system if report.differences else ""


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


def score_table(report: EvaluationReport) -> Table:
    """Scores of all systems by slice, with p-values of ROUGE-1 and ROUGE-Lsum; BERTScore if it was asked for."""
    columns, rows, best = _COLUMNS, list[tuple[str, ...]](), best_scores(report)
    for row in report.rows:
        p_values = [row.against_lead[name].permutation for name in ("rouge1", "rougeLsum") if row.against_lead]
        unsupported = "" if row.unsupported is None else f"{100 * row.unsupported:.1f} %"
        form = (f"{row.documents:,}", f"{row.words:.0f}", f"{100 * row.repetition:.1f} %", unsupported)
        scores = (
            Bold(_interval(f1)) if (row.slice, row.system, name) in best else _interval(f1)
            for name, f1 in row.rouge.items()
        )
        rows.append((row.slice, row.system, *scores, *form, _p_values(p_values)))
    if not any(row.bertscore for row in report.rows):
        return columns, rows
    cells = [_interval(row.bertscore) if row.bertscore else "" for row in report.rows]
    position = columns.index("documents")
    inserted = [(*row[:position], cell, *row[position:]) for row, cell in zip(rows, cells, strict=True)]
    return (*columns[:position], "BERTScore", *columns[position:]), inserted


def win_table(report: EvaluationReport) -> Table:
    """One system compared with every other on all documents: differences, wins, ties, losses, and p-values."""
    rows: list[tuple[str, ...]] = [
        (
            difference.other,
            _signed(difference, "rouge1"),
            _signed(difference, "rougeLsum"),
            _counts(difference, "rouge1"),
            _counts(difference, "rougeLsum"),
            _p_values([difference.rouge[name].bootstrap for name in ("rouge1", "rougeLsum")]),
            _p_values([difference.rouge[name].permutation for name in ("rouge1", "rougeLsum")]),
            _p_values([difference.holm[name] for name in ("rouge1", "rougeLsum")]),
        )
        for difference in report.differences
        if difference.slice == "all"
    ]
    return _WIN_COLUMNS, rows


def _interval(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _signed(difference: Difference, name: str) -> str:
    estimate = difference.rouge[name].difference
    return f"{100 * estimate.mean:+.1f} [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"


def _counts(difference: Difference, name: str) -> str:
    test = difference.rouge[name]
    return f"{test.wins:,}/{test.ties:,}/{test.losses:,}"


def _p_values(values: Sequence[float]) -> str:
    return " / ".join(f"{p:.3f}" for p in values)


def to_csv(report: EvaluationReport) -> str:
    """Render a report as CSV: a row per slice and system, unrounded, F1 from 0 to 1.

    Wins, ties, losses and p-values are those of the system that the others are compared with against that of the row.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    columns = ["slice", "system", *_STATISTICS]
    columns += [f"{name}{part}" for name in TYPES for part in ("", "_low", "_high")]
    columns += ["bertscore", "bertscore_low", "bertscore_high"]
    writer.writerow([*columns, *(f"{name}_{test}" for name in TYPES for test in _TESTS)])
    differences = {(item.slice, item.other): item for item in report.differences}
    for row in report.rows:
        cells = [guard_cell(row.slice), guard_cell(row.system), *(getattr(row, name) for name in _STATISTICS)]
        cells += [value for name in TYPES for value in astuple(row.rouge[name])]
        cells += astuple(row.bertscore) if row.bertscore else ("", "", "")
        named_alike = row.system == compared_system(report)  # also a baseline named like the system
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
        comments.append(f"*: differs from {compared_system(report)}, permutation test, Holm, p < {_LEVEL}; {tested}")
    stars = {
        (item.slice, item.other, name)
        for item in report.differences
        for name, p_value in item.holm.items()
        if p_value < _LEVEL
    }
    lines = [
        *(f"% {_CONTROL.sub(' ', comment)}" for comment in comments),
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


def escape_latex(text: str) -> str:
    """Escape the characters that LaTeX interprets; control characters become spaces."""
    return "".join(_LATEX.get(character, character) for character in _CONTROL.sub(" ", text))


def guard_cell(text: str) -> str:
    """Return the text of a cell that no spreadsheet takes for a formula; control characters become spaces."""
    printable = _CONTROL.sub(" ", text)
    return f"'{printable}" if _FORMULA.match(text) else printable
