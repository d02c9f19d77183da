"""Text tables of an evaluation: titles and cells, with ROUGE times 100."""

from collections.abc import Sequence

from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.report import EvaluationReport, ReportRow
from sumpool.evaluation.statistics import Estimate
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


def score_table(report: EvaluationReport) -> Table:
    """Scores of all systems by slice, with p-values of ROUGE-1 and ROUGE-Lsum; BERTScore if it was asked for."""
    columns, rows = _COLUMNS, [_score_cells(row) for row in report.rows]
    if not any(row.bertscore for row in report.rows):
        return columns, rows
    cells = [_interval(row.bertscore) if row.bertscore else "" for row in report.rows]
    place = columns.index("documents")
    inserted = [(*row[:place], cell, *row[place:]) for row, cell in zip(rows, cells, strict=True)]
    return (*columns[:place], "BERTScore", *columns[place:]), inserted


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
    """Faults of the sentences of each system on all documents; no rows if they were not counted."""
    rows: list[tuple[str, ...]] = []
    for row in report.rows:
        if row.slice == "all" and row.form:
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


def _score_cells(row: ReportRow) -> tuple[str, ...]:
    p_values = [row.against_lead[name].permutation for name in ("rouge1", "rougeLsum") if name in row.against_lead]
    return (
        row.slice,
        row.system,
        *(_interval(f1) for f1 in row.rouge.values()),
        f"{row.documents:,}",
        f"{row.words:.0f}",
        f"{100 * row.repetition:.1f} %",
        "" if row.unsupported is None else f"{100 * row.unsupported:.1f} %",
        _p_values(p_values),
    )


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
