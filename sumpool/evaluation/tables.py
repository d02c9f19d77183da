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
from sumpool.text.form import FAULTS

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
_WIN_COLUMNS = ("compared with", "won/tied/lost (1)", "won/tied/lost (Lsum)", "p bootstrap", "p permuted", "p Holm")
_DIFFERENCE_COLUMNS = ("slice", "compared", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "documents", "p (1 / Lsum)")
_SHOWN = ("rouge1", "rouge2", "rougeLsum")

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


def report_tables(report: EvaluationReport) -> list[TitledTable]:
    """Lay out the tables of a report that have rows; the scores in any case."""
    system = report.rows[0].system if report.rows else ""
    named = [
        (*score_table(report), "", 2),
        (*length_table(report), "ROUGE-1 / -2 / -Lsum by length of the document", 1),
        (*form_table(report), "form: sentences with a fault", 1),
        (*win_table(report), f"{system} on each document", 1),
        (*difference_table(report.differences), "differences of systems", 2),
    ]
    return [table for table in named if table[1] or not table[2]]


def score_table(report: EvaluationReport) -> Table:
    """Scores of all systems by slice, with p-values of ROUGE-1 and ROUGE-Lsum; BERTScore if it was asked for."""
    columns, rows = _COLUMNS, list[tuple[str, ...]]()
    for row in report.rows:
        p_values = [row.against_lead[name].permutation for name in ("rouge1", "rougeLsum") if row.against_lead]
        unsupported = "" if row.unsupported is None else f"{100 * row.unsupported:.1f} %"
        form = (f"{row.documents:,}", f"{row.words:.0f}", f"{100 * row.repetition:.1f} %", unsupported)
        rows.append((row.slice, row.system, *map(_interval, row.rouge.values()), *form, _p_values(p_values)))
    if not any(row.bertscore for row in report.rows):
        return columns, rows
    cells = [_interval(row.bertscore) if row.bertscore else "" for row in report.rows]
    position = columns.index("documents")
    inserted = [(*row[:position], cell, *row[position:]) for row, cell in zip(rows, cells, strict=True)]
    return (*columns[:position], "BERTScore", *columns[position:]), inserted


def length_table(report: EvaluationReport) -> Table:
    """ROUGE-1, -2 and -Lsum of each system by length of the document; no rows without such slices."""
    slices = list(dict.fromkeys(row.slice for row in report.length_rows))
    documents = {row.slice: row.documents for row in report.length_rows}
    scores = {
        (row.system, row.slice): " / ".join(f"{100 * row.rouge[name].mean:.1f}" for name in _SHOWN)
        for row in report.length_rows
    }
    systems = dict.fromkeys(row.system for row in report.length_rows)
    rows = [(system, *(scores[system, name] for name in slices)) for system in systems]
    counts = [("documents", *(f"{documents[name]:,}" for name in slices))] if rows else []
    return ("system", *slices), [*rows, *counts]


def win_table(report: EvaluationReport) -> Table:
    """Wins, ties and losses against each baseline on all documents, with p-values of ROUGE-1 and ROUGE-Lsum."""
    rows: list[tuple[str, ...]] = [
        (
            difference.other,
            _counts(difference, "rouge1"),
            _counts(difference, "rougeLsum"),
            _p_values([difference.rouge[name].bootstrap for name in ("rouge1", "rougeLsum")]),
            _p_values([difference.rouge[name].permutation for name in ("rouge1", "rougeLsum")]),
            _p_values([difference.holm[name] for name in ("rouge1", "rougeLsum")]),
        )
        for difference in report.baselines
        if difference.slice == "all"
    ]
    return _WIN_COLUMNS, rows


def form_table(report: EvaluationReport) -> Table:
    """Faults of the sentences of each system on all documents."""
    rows: list[tuple[str, ...]] = []
    for row in report.rows:
        if row.slice == "all":
            counts = (row.form.faults[name] for name in FAULTS)
            rows.append(
                (
                    row.system,
                    f"{row.form.sentences:,}",
                    *(f"{count:,}" for count in counts),
                    f"{row.form.flawed:,} of {row.documents:,}",
                )
            )
    return ("system", "sentences", *FAULTS, "summaries with faults"), rows


def difference_table(differences: Sequence[Difference]) -> Table:
    """Differences of pairs of systems, with p-values corrected by Holm's method if there are several pairs."""
    columns = (*_DIFFERENCE_COLUMNS, "won/tied/lost (1, Lsum)")
    rows = [_difference_cells(difference) for difference in differences]
    if len({(difference.system, difference.other) for difference in differences}) <= 1:
        return columns, rows
    corrected = [_p_values([difference.holm[name] for name in ("rouge1", "rougeLsum")]) for difference in differences]
    return (*columns, "p Holm"), [(*row, p_values) for row, p_values in zip(rows, corrected, strict=True)]


def _difference_cells(difference: Difference) -> tuple[str, ...]:
    means = [
        f"{100 * test.difference.mean:+.1f} [{100 * test.difference.low:+.1f}, {100 * test.difference.high:+.1f}]"
        for test in difference.rouge.values()
    ]
    return (
        difference.slice,
        f"{difference.system} - {difference.other}",
        *means,
        f"{difference.documents:,}",
        _p_values([difference.rouge[name].permutation for name in ("rouge1", "rougeLsum")]),
        f"{_counts(difference, 'rouge1')}, {_counts(difference, 'rougeLsum')}",
    )


def _interval(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _counts(difference: Difference, name: str) -> str:
    test = difference.rouge[name]
    return f"{test.wins:,}/{test.ties:,}/{test.losses:,}"


def _p_values(values: Sequence[float]) -> str:
    return " / ".join(f"{p:.3f}" for p in values)


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
        cells += [value for name in TYPES for value in astuple(row.rouge[name])]
        cells += astuple(row.bertscore) if row.bertscore else ("", "", "")
        difference = differences.get((row.slice, row.system)) if row is not report.rows[0] else None
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
        members = list(rows)
        title = rf"\emph{{{escape_latex(slice_name)}}}, {members[0].documents} documents"
        lines += [r"\midrule", rf"\multicolumn{{6}}{{l}}{{{title}}} \\"]
        for row in members:
            scores = []
            for name, f1 in row.rouge.items():
                star = "$^*$" if (slice_name, row.system, name) in stars else ""
                interval = rf"{{\scriptsize [{100 * f1.low:.1f}, {100 * f1.high:.1f}]}}"
                scores.append(f"{100 * f1.mean:.1f}{star} {interval}")
            lines.append(rf"{escape_latex(row.system)} & {' & '.join(scores)} & {row.words:.0f} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escape_latex(text: str) -> str:
    """Escape the characters that LaTeX interprets; control characters become spaces."""
    return "".join(_LATEX.get(character, character) for character in _CONTROL.sub(" ", text))


def guard_cell(text: str) -> str:
    """Return the text of a cell that no spreadsheet takes for a formula; control characters become spaces."""
    printable = _CONTROL.sub(" ", text)
    return f"'{printable}" if _FORMULA.match(text) else printable
