"""Report of an evaluation as one HTML file: no script, no remote address, light and dark.

Every text is escaped, and a content security policy admits nothing but the page's own style sheet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import ReferenceDocument
from sumpool.evaluation.scores import SCORES, read_scores
from sumpool.evaluation.tables import compared_system, score_table, win_table
from sumpool.io.html import escape_html, html_page
from sumpool.text.escaping import Bold

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
