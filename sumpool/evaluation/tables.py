"""Report of an evaluation as text tables with ROUGE times 100, as CSV for spreadsheets, as a LaTeX table and as HTML.

The HTML file has no script and no remote address. Every text is escaped, and a content security policy admits nothing
but the page's own style sheet.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.rouge import TYPES, EvaluationConfig
from sumpool.evaluation.scorer import ReferenceDocument, ScoredDocument
from sumpool.evaluation.scores import SCORES, read_scores
from sumpool.evaluation.statistics import Estimate
from sumpool.io.html import escape_html, html_page
from sumpool.text.cleaning import Bold, escape_latex, guard_cell, one_line

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Column titles, and the cells of each row."""
Extreme = tuple[ScoredDocument, ReferenceDocument]
"""Document with one of the best or worst summaries."""

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
_TESTED = ("rouge1", "rougeLsum")
"""Scores whose tests are shown."""
_LEVEL = 0.05
"""p-value below which a difference is marked in LaTeX."""
_STATISTICS = ("documents", "words", "repetition", "unsupported")
_TESTS = ("wins", "ties", "losses", "bootstrap", "permutation", "holm")
_RANKED_BY = ("rouge1", "rouge2", "rougeLsum")
"""Scores whose mean ranks documents."""
EXTREMES = 10
"""Documents that the report shows among the best, and among the worst."""
_SHOWN_CHARACTERS = 1500
"""Characters of a document that the report shows."""
_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}


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
    """Scores of all systems by slice, with p-values of ROUGE-1 and ROUGE-Lsum."""
    rows, best = list[tuple[str, ...]](), best_scores(report)
    for row in report.rows:
        p_values = _p_values([row.against_lead[name].permutation for name in _TESTED if row.against_lead])
        unsupported = "" if row.unsupported is None else f"{100 * row.unsupported:.1f} %"
        form = (f"{row.documents:,}", f"{row.words:.0f}", f"{100 * row.repetition:.1f} %", unsupported)
        scores = (
            Bold(_interval(f1)) if (row.slice, row.system, name) in best else _interval(f1)
            for name, f1 in row.rouge.items()
        )
        rows.append((row.slice, row.system, *scores, *form, p_values))
    return _COLUMNS, rows


def win_table(report: EvaluationReport) -> Table:
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
    identity: Mapping[str, str] = MappingProxyType({}),
    systems: Sequence[str] = (),
) -> str:
    """Render a report.

    Args:
        report: The report.
        best: Documents with the best summaries, the best first.
        worst: Documents with the worst summaries, the worst first.
        config: Settings of the evaluation.
        identity: Origin of the summaries, such as the SHA-256 of the model and the settings of its search.
        systems: Names of the evaluated systems for the title; by default the first one alone.
    """
    system = report.rows[0].system if report.rows else "no documents"
    title = f"Evaluation of {', '.join(systems) or system}"
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
    scores = ", ".join(f"{title} {100 * rouge[name].f1:.1f}" for name, title in _NAMES.items())
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
    means = {id: fmean(scored.systems["model"].rouge[name].f1 for name in _RANKED_BY) for id, scored in scores.items()}
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    count = min(count, (len(means) + 1) // 2)
    best, worst = ranked[:count], ranked[count:][::-1][:count]
    shown = {*best, *worst}
    texts = {reference.id: (scores[reference.id], reference) for reference in references if reference.id in shown}
    return [texts[id] for id in best if id in texts], [texts[id] for id in worst if id in texts]
