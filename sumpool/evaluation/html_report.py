"""Report of an evaluation as one HTML file: no script, no remote address, light and dark.

Every text is escaped, and a content security policy admits nothing but the page's own style sheet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

import numpy as np

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.rouge import TOKENIZERS, TYPES, WordTokenizer
from sumpool.evaluation.scorer import ReferenceDocument
from sumpool.evaluation.scores import SCORES, read_scores
from sumpool.evaluation.tables import compared_system, form_table, length_table, score_table, win_table
from sumpool.io.html import escape_html, html_page
from sumpool.text.escaping import Bold
from sumpool.text.fragments import overlap

_RANKED_BY = ("rouge1", "rouge2", "rougeLsum")
"""Scores whose mean ranks documents."""

_BINS = 20
_WIDTH, _HEIGHT = 320, 120
_MARGIN = 18
"""Height of the line of labels below the bars."""
SEQUENCE = 2
"""Words of a shared sequence at least, as a match of ROUGE-2 has."""
EXTREMES = 10
"""Documents that the report shows among the best, and among the worst."""
_SHOWN_CHARACTERS = 1500
"""Characters of a document that the report shows."""
_NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
_TEXT_COLUMNS = {"slice", "system", "compared with"}
_NAME = ' class="name"'
_LEGEND = (
    '<p class="note">Ranked by the mean of ROUGE-1, ROUGE-2 and ROUGE-Lsum. <mark>Marked</mark>: sequences of two or '
    'more words that summary and reference share. <span class="word">Dotted</span>: single words that they share.</p>'
)


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


@dataclass(frozen=True)
class Distribution:
    """Scores of all documents.

    Attributes:
        rouge: F1 of the evaluated system on each document, by name.
        lead: F1 of LEAD on each document, by name; empty if it was not scored.
        words: Length of each summary, in words.
        best: Documents with the best summaries, the best first.
        worst: Documents with the worst summaries, the worst first.
    """

    rouge: Mapping[str, Sequence[float]]
    lead: Mapping[str, Sequence[float]]
    words: Sequence[int]
    best: Sequence[ExtremeDocument]
    worst: Sequence[ExtremeDocument]


def to_html(
    report: EvaluationReport,
    distribution: Distribution,
    config: EvaluationConfig,
    identity: Mapping[str, str] = MappingProxyType({}),
    systems: Sequence[str] = (),
) -> str:
    """Render a report.

    Args:
        report: The report.
        distribution: Scores of the documents, and the best and worst of them.
        config: Settings of the evaluation.
        identity: Origin of the summaries, such as the SHA-256 of the model and the settings of its search.
        systems: Names of the evaluated systems for the title; by default the first one alone.
    """
    system = report.rows[0].system if report.rows else "no documents"
    title = f"Evaluation of {', '.join(systems) or system}"
    tokenizer = TOKENIZERS[config.tokenizer](stemmer=config.stemmer)
    body = f"""<main>
<h1>{escape_html(title)}</h1>
<p>{report.documents:,} documents. F1 times 100, mean over documents with its 95 % interval.</p>
{_tables(report)}
<h2>Distribution over documents: {escape_html(system)}</h2>
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
        (f"{compared_system(report)} minus other systems, on each document", win_table(report)),
        ("Form: sentences with a fault", form_table(report)),
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


def histogram(
    title: str, values: Sequence[float], other: Sequence[float] = (), *, top: float | None = None, unit: str = ""
) -> str:
    """Draw the distribution of values as bars, and that of another system as an outline over them.

    Args:
        title: Description of the values; the label of the image.
        values: The values, from 0.
        other: Values of the other system; none draws no outline.
        top: End of the axis; None takes the highest value.
        unit: Unit after the numbers of the axis.
    """
    top = top or max([*values, *other, 1e-9])
    bars, outline = (np.histogram(data, bins=_BINS, range=(0, top))[0] for data in (values, other))
    highest = max(int(bars.max()), int(outline.max()), 1)
    width = _WIDTH / _BINS
    scale = _HEIGHT / highest
    shapes = [
        f'<rect class="bar" x="{index * width:.1f}" y="{_HEIGHT - count * scale:.1f}" width="{width - 1:.1f}" '
        f'height="{count * scale:.1f}"/>'
        for index, count in enumerate(bars.tolist())
        if count
    ]
    if len(other):
        steps = [f"H{index * width:.1f}V{_HEIGHT - count * scale:.1f}" for index, count in enumerate(outline.tolist())]
        shapes.append(f'<path class="outline" d="M0 {_HEIGHT}{"".join(steps)}H{_WIDTH}V{_HEIGHT}"/>')
    mean = float(np.mean(values)) if len(values) else 0.0
    position = min(_WIDTH * mean / top, _WIDTH)
    shapes.append(f'<path class="mean" d="M{position:.1f} 0V{_HEIGHT}"/>')
    label = f"{title}: {len(values):,} documents, mean {_number(mean)}{unit}, highest bar {highest:,} documents"
    return (
        f'<svg role="img" aria-label="{escape_html(label)}" viewBox="0 -2 {_WIDTH} {_HEIGHT + _MARGIN + 2}">'
        f"{''.join(shapes)}"
        f'<path class="axis" d="M0 {_HEIGHT}H{_WIDTH}"/><text x="0" y="{_HEIGHT + 14}">0</text>'
        f'<text class="end" x="{_WIDTH}" y="{_HEIGHT + 14}">{_number(top)}{escape_html(unit)}</text></svg>'
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _percent(values: Iterable[float]) -> list[float]:
    return [100 * value for value in values]


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


@dataclass(frozen=True)
class MarkedSegment:
    """Part of a text.

    Attributes:
        text: The text.
        shared: `SEQUENCE` in a sequence of words that the other text has too, 1 for a shared word alone, otherwise 0.
    """

    text: str
    shared: int


def _marked(segments: Sequence[MarkedSegment]) -> str:
    tags = {0: ("", ""), 1: ('<span class="word">', "</span>"), SEQUENCE: ("<mark>", "</mark>")}
    return "".join(
        f"{opening}{escape_html(segment.text)}{closing}"
        for segment in segments
        for opening, closing in [tags[segment.shared]]
    )


def mark_shared(text: str, other: str, tokenizer: WordTokenizer) -> list[MarkedSegment]:
    """Split a text into parts that another text shares and parts that it does not.

    Args:
        text: The text; the segments joined are equal to it.
        other: The text that it is compared with.
        tokenizer: Tokenizer of the words that are compared.
    """
    spans = list(tokenizer.spans(text))
    words, others = (
        [" ".join(tokenizer.tokenize(source[start:end])) for start, end in found]
        for source, found in ((text, spans), (other, tokenizer.spans(other)))
    )
    runs = overlap(others, words).runs  # lengths of the shared sequences that end with each word
    segments: list[MarkedSegment] = []

    def append(part: str, shared: int) -> None:
        if segments and segments[-1].shared == shared != 1:
            segments[-1] = MarkedSegment(segments[-1].text + part, shared)
        elif part:
            segments.append(MarkedSegment(part, shared))

    end = 0
    for (start, stop), run, following in zip(spans, runs, [*runs, 0][1:], strict=True):
        append(text[end:start], SEQUENCE if run >= SEQUENCE else 0)
        append(text[start:stop], SEQUENCE if following >= SEQUENCE else min(run, SEQUENCE))
        end = stop
    append(text[end:], 0)
    return segments


def _settings(config: EvaluationConfig, identity: Mapping[str, str]) -> str:
    settings = {**identity, **{f"evaluate.{name}": _shown(value) for name, value in config}}
    entries = "".join(f"<dt>{escape_html(name)}</dt><dd>{escape_html(value)}</dd>" for name, value in settings.items())
    return f"<dl>{entries}</dl>"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def read_distribution(folder: Path, references: Iterable[ReferenceDocument], count: int) -> Distribution:
    """Read the scores in a folder of results.

    Args:
        folder: The folder.
        references: The documents with their references, for the texts of the extremes.
        count: Number of documents among the best, and among the worst; fewer if there are fewer documents.

    Raises:
        DataError: If the scores are damaged.
    """
    ids: list[str] = []
    words: list[int] = []
    rouge: dict[str, list[float]] = {name: [] for name in TYPES}
    lead: dict[str, list[float]] = {name: [] for name in TYPES}
    for scored in read_scores(folder / SCORES):
        ids.append(scored.id)
        words.append(scored.systems["model"].words)
        for name in TYPES:
            rouge[name].append(scored.systems["model"].rouge[name].f1)
            if "lead" in scored.systems:
                lead[name].append(scored.systems["lead"].rouge[name].f1)
    means = {id: fmean(rouge[name][index] for name in _RANKED_BY) for index, id in enumerate(ids)}
    ranked = sorted(ids, key=means.__getitem__, reverse=True)
    count = min(count, (len(ids) + 1) // 2)
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
    return Distribution(
        rouge=rouge,
        lead=lead if lead[TYPES[0]] else {},
        words=words,
        best=[texts[id] for id in best if id in texts],
        worst=[texts[id] for id in worst if id in texts],
    )
