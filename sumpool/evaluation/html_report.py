"""Report of an evaluation as one HTML file: no script, no remote address, light and dark.

Every text is escaped, and a content security policy admits nothing but the page's own style sheet.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType

from sumpool.evaluation.agreement import TOKENIZERS, WordTokenizer
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.extremes import Distribution, ExtremeDocument
from sumpool.evaluation.histograms import histogram
from sumpool.evaluation.marking import SEQUENCE, MarkedSegment, mark_shared
from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.tables import difference_table, form_table, length_table, score_table, win_table
from sumpool.io.html import escape_html, html_page

EXTREMES = 10
"""Documents that the report shows among the best, and among the worst."""
_SHOWN_CHARACTERS = 1500
"""Characters of a document that the report shows."""
_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
_TEXT_COLUMNS = {"slice", "system", "compared", "compared with"}


def to_html(
    report: EvaluationReport,
    distribution: Distribution,
    config: EvaluationConfig,
    identity: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Render a report.

    Args:
        report: The report.
        distribution: Scores of the documents, and the best and worst of them.
        config: Settings of the evaluation.
        identity: Origin of the summaries, such as the SHA-256 of the model and the settings of its search.
    """
    system = report.rows[0].system if report.rows else "no documents"
    title = f"Evaluation of {system}"
    tokenizer = TOKENIZERS[config.tokenizer](stemmer=config.stemmer)
    body = f"""<main>
<h1>{escape_html(title)}</h1>
<p>{report.documents:,} documents. F1 times 100, mean over documents with its 95 % interval.</p>
{_tables(report)}
<h2>Distribution over documents</h2>
{_plots(distribution, report)}
<h2>Best documents</h2>
{_LEGEND}
{_articles(distribution.best, tokenizer)}
<h2>Worst documents</h2>
{_articles(distribution.worst, tokenizer)}
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
        ("ROUGE-1 / -2 / -Lsum by length of the document", length_table(report)),
        ("Wins, ties and losses on each document (ROUGE-1 / ROUGE-Lsum)", win_table(report)),
        ("Form: sentences with a fault", form_table(report)),
        ("Differences of systems", difference_table(report.differences)),
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
            f'<th scope="row"{_NAME}>{escape_html(cell)}</th>' if name else f"<td>{escape_html(cell)}</td>"
            for cell, name in zip(row, names, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape_html(caption)}">\n<table>'
        f"<caption>{escape_html(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


_NAME = ' class="name"'


def _plots(distribution: Distribution, report: EvaluationReport) -> str:
    lead = next((row.system for row in report.rows[1:] if distribution.lead and row.system.startswith("LEAD")), "")
    outline = f", outline {escape_html(lead)}" if lead else ""
    plots = [
        (
            f"{name}{outline}, dashed mean",
            histogram(name, _percent(distribution.rouge[key]), _percent(distribution.lead.get(key, ())), top=100),
        )
        for key, name in _NAMES.items()
    ]
    words = [float(count) for count in distribution.words]
    plots.append(("Length of the summaries, dashed mean", histogram("Length", words, unit=" words")))
    shown = "\n".join(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>" for caption, svg in plots)
    return f'<div class="plots">\n{shown}\n</div>'


def _percent(values: Iterable[float]) -> list[float]:
    return [100 * value for value in values]


_LEGEND = (
    '<p class="note">Ranked by the mean of ROUGE-1, ROUGE-2 and ROUGE-Lsum. <mark>Marked</mark>: sequences of two or '
    'more words that summary and reference share. <span class="word">Dotted</span>: single words that they share.</p>'
)


def _articles(documents: Sequence[ExtremeDocument], tokenizer: WordTokenizer) -> str:
    return "\n".join(_article(document, tokenizer) for document in documents) or "<p>None.</p>"


def _article(document: ExtremeDocument, tokenizer: WordTokenizer) -> str:
    scores = ", ".join(f"{_NAMES[name]} {100 * f1:.1f}" for name, f1 in document.rouge.items())
    summary = _marked(mark_shared(document.summary, document.reference, tokenizer))
    reference = _marked(mark_shared(document.reference, document.summary, tokenizer))
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


def _marked(segments: Sequence[MarkedSegment]) -> str:
    tags = {0: ("", ""), 1: ('<span class="word">', "</span>"), SEQUENCE: ("<mark>", "</mark>")}
    return "".join(
        f"{opening}{escape_html(segment.text)}{closing}"
        for segment in segments
        for opening, closing in [tags[segment.shared]]
    )


def _settings(config: EvaluationConfig, identity: Mapping[str, str]) -> str:
    settings = {**identity, **{f"evaluate.{name}": _shown(value) for name, value in config}}
    entries = "".join(f"<dt>{escape_html(name)}</dt><dd>{escape_html(value)}</dd>" for name, value in settings.items())
    return f"<dl>{entries}</dl>"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
