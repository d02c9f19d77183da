"""Report of an evaluation as CSV for spreadsheets and as a LaTeX table for papers."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.report import EvaluationReport, ReportRow
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.statistics import Estimate
from sumpool.text.cleaning import IGNORABLE

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
_STATISTICS = ("documents", "words", "repetition", "coverage", "density", "novel_bigrams", "unsupported")
_TESTS = ("wins", "ties", "losses", "bootstrap", "permutation", "holm")


def to_csv(report: EvaluationReport) -> str:
    """Render a report as CSV: a row per slice and system, unrounded, F1 from 0 to 1.

    Wins, ties, losses and p-values are those of the evaluated system against the system of the row.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    columns = ["slice", "system", *_STATISTICS]
    columns += [f"{name}{part}" for name in TYPES for part in ("", "_low", "_high")]
    columns += ["bertscore", "bertscore_low", "bertscore_high"]
    writer.writerow([*columns, *(f"{name}_{test}" for name in TYPES for test in _TESTS)])
    differences = {(item.slice, item.other): item for item in report.baselines}
    for row in (*report.rows, *report.length_rows):
        cells = [guard_cell(row.slice), guard_cell(row.system), *(getattr(row, name) for name in _STATISTICS)]
        cells += [value for name in TYPES for value in _bounds(row.rouge[name])]
        cells += _bounds(row.bertscore) if row.bertscore else ("", "", "")
        difference = differences.get((row.slice, row.system)) if row is not report.rows[0] else None
        writer.writerow([*cells, *_test_cells(difference)])
    return text.getvalue()


def to_latex(report: EvaluationReport) -> str:
    r"""Render a report as a LaTeX table with `\usepackage{booktabs}`: ROUGE times 100 with intervals.

    A star marks F1 that differs from that of the evaluated system (permutation test, Holm, p < .05).
    """
    comments = [*report.notes, report.signature]
    if report.baselines:
        tested = "tested on the slices all and low-leak"
        comments.append(f"*: differs from {report.rows[0].system}, permutation test, Holm, p < {_LEVEL}; {tested}")
    stars = {
        (item.slice, item.other, name)
        for item in report.baselines
        for name, p_value in item.holm.items()
        if p_value < _LEVEL
    }
    lines = [
        *(f"% {_CONTROL.sub(' ', comment)}" for comment in comments),
        r"\begin{tabular}{lrrrrr}",
        r"\toprule",
        r"System & ROUGE-1 & ROUGE-2 & ROUGE-L & ROUGE-Lsum & Words \\",
    ]
    for slice_name, rows in groupby((*report.rows, *report.length_rows), key=lambda row: row.slice):
        lines += _latex_rows(slice_name, list(rows), stars)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escape_latex(text: str) -> str:
    """Escape the characters that LaTeX interprets; control characters become spaces."""
    return "".join(_LATEX.get(character, character) for character in _CONTROL.sub(" ", text))


def _latex_rows(slice_name: str, rows: Sequence[ReportRow], stars: set[tuple[str, str, str]]) -> Iterator[str]:
    yield r"\midrule"
    yield rf"\multicolumn{{6}}{{l}}{{\emph{{{escape_latex(slice_name)}}}, {rows[0].documents} documents}} \\"
    for row in rows:
        scores = []
        for name, f1 in row.rouge.items():
            star = "$^*$" if (slice_name, row.system, name) in stars else ""
            interval = rf"{{\scriptsize [{100 * f1.low:.1f}, {100 * f1.high:.1f}]}}"
            scores.append(f"{100 * f1.mean:.1f}{star} {interval}")
        yield rf"{escape_latex(row.system)} & {' & '.join(scores)} & {row.words:.0f} \\"


def guard_cell(text: str) -> str:
    """Return the text of a cell that no spreadsheet takes for a formula; control characters become spaces."""
    printable = _CONTROL.sub(" ", text)
    return f"'{printable}" if _FORMULA.match(text) else printable


def _bounds(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high


def _test_cells(difference: Difference | None) -> list[object]:
    cells: list[object] = []
    if difference is None:
        return [*cells, *[""] * len(TYPES) * len(_TESTS)]
    for name in TYPES:
        test = difference.rouge[name]
        cells += [test.wins, test.ties, test.losses, test.bootstrap, test.permutation, difference.holm[name]]
    return cells
