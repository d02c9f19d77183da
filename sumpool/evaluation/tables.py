"""Report of an evaluation as text tables with ROUGE times 100, as CSV for spreadsheets, and as a LaTeX table."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.report import Difference, EvaluationReport, TitledTable
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ReferenceDocument
from sumpool.evaluation.scores import SCORES, read_scores
from sumpool.evaluation.statistics import Estimate
from sumpool.io.html import escape_html, html_page
from sumpool.text.cleaning import IGNORABLE, Bold

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


_RANKED_BY = ("rouge1", "rouge2", "rougeLsum")
"""Scores whose mean ranks documents."""

EXTREMES = 10
"""Documents that the report shows among the best, and among the worst."""
_SHOWN_CHARACTERS = 1500
"""Characters of a document that the report shows."""
_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
_TEXT_COLUMNS = {"slice", "system", "compared with"}
_NAME = ' class="name"'


@dataclass(frozen=True)
class ExtremeDocument:
    """Document with one of the best or worst summaries.

    Attributes:
        id: ID of the document.
        rouge: F1 by name.
        summary: The summary.
        reference: The reference summary.
        document: Text of the document; None if unknown.
    """

    id: str
    rouge: Mapping[str, float]
    summary: str
    reference: str
    document: str | None


def to_html(
    report: EvaluationReport,
    best: Sequence[ExtremeDocument],
    worst: Sequence[ExtremeDocument],
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
    body = f"""<main>
<h1>{escape_html(title)}</h1>
<p>{report.documents:,} documents. F1 times 100, mean over documents with its 95 % interval.</p>
{_tables(report)}
<h2>Best documents</h2>
<p class="note">Ranked by the mean of ROUGE-1, ROUGE-2 and ROUGE-Lsum.</p>
{_articles(best)}
<h2>Worst documents</h2>
{_articles(worst)}
<h2>Settings</h2>
{_settings(config, identity)}
</main>
<footer>
{"".join(f"<p>{escape_html(line)}</p>" for line in (*report.notes, report.signature))}
</footer>"""
    return html_page(title, body, files("sumpool.evaluation").joinpath("report.css").read_text("utf-8"))


def _tables(report: EvaluationReport) -> str:
    tables = [
        ("Scores", score_table(report)),
        (f"{compared_system(report)} minus other systems, on each document", win_table(report)),
    ]
    return "\n".join(_table(caption, *table) for caption, table in tables if table[1])


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = [column in _TEXT_COLUMNS for column in columns]
    head = "".join(
        f'<th scope="col"{_NAME if name else ""}>{escape_html(column)}</th>'
        for column, name in zip(columns, names, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{_NAME}>{escape_html(cell)}</th>' if name else f"<td{_best(cell)}>{escape_html(cell)}</td>"
            for cell, name in zip(row, names, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape_html(caption)}">\n<table>'
        f"<caption>{escape_html(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _best(cell: str) -> str:
    return ' class="best"' if isinstance(cell, Bold) else ""


def _articles(documents: Sequence[ExtremeDocument]) -> str:
    return "\n".join(map(_article, documents)) or "<p>None.</p>"


def _article(document: ExtremeDocument) -> str:
    scores = ", ".join(f"{_NAMES[name]} {100 * f1:.1f}" for name, f1 in document.rouge.items())
    summary, reference = escape_html(document.summary), escape_html(document.reference)
    source = ""
    if document.document is not None:
        beginning = document.document[:_SHOWN_CHARACTERS]
        ellipsis = " …" if len(document.document) > _SHOWN_CHARACTERS else ""
        source = (
            "<details><summary>Beginning of the document</summary>"
            f'<p dir="auto">{escape_html(beginning)}{ellipsis}</p></details>'
        )
    return f"""<article>
<h3><bdi>{escape_html(document.id)}</bdi></h3>
<p class="note">{scores}</p>
<div class="pair">
<div><h4>Summary</h4><p dir="auto">{summary or "<em>empty</em>"}</p></div>
<div><h4>Reference</h4><p dir="auto">{reference or "<em>empty</em>"}</p></div>
</div>
{source}
</article>"""


def _settings(config: EvaluationConfig, identity: Mapping[str, str]) -> str:
    settings = {**identity, **{f"evaluate.{name}": _shown(value) for name, value in config}}
    entries = "".join(f"<dt>{escape_html(name)}</dt><dd>{escape_html(value)}</dd>" for name, value in settings.items())
    return f"<dl>{entries}</dl>"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def read_extremes(
    folder: Path, references: Iterable[ReferenceDocument], count: int
) -> tuple[list[ExtremeDocument], list[ExtremeDocument]]:
    """Read the documents with the best and with the worst summaries in a folder of results, the extreme ones first.

    Args:
        folder: The folder.
        references: The documents with their references, for the texts.
        count: Number of documents among the best, and among the worst; fewer if there are fewer documents.

    Raises:
        DataError: If the scores are damaged.
    """
    means = {
        scored.id: fmean(scored.systems["model"].rouge[name].f1 for name in _RANKED_BY)
        for scored in read_scores(folder / SCORES)
    }
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    count = min(count, (len(means) + 1) // 2)
    best, worst = ranked[:count], ranked[count:][::-1][:count]
    extremes = {*best, *worst}
    scores = {scored.id: scored for scored in read_scores(folder / SCORES) if scored.id in extremes}
    texts = {
        reference.id: ExtremeDocument(
            id=reference.id,
            rouge={name: scores[reference.id].systems["model"].rouge[name].f1 for name in TYPES},
            summary=scores[reference.id].summary,
            reference=reference.reference,
            document=reference.document,
        )
        for reference in references
        if reference.id in scores
    }
    return [texts[id] for id in best if id in texts], [texts[id] for id in worst if id in texts]
