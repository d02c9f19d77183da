"""HTML pages of summaries, and their explanation: the document with the evidence beside its summary.

Pointing at a sentence of the summary marks its sources, and pointing at a source marks the sentences that come from it;
links lead from one to the other. All of it is style sheets: the pages have no script, and their policy admits none.
"""

from importlib.resources import files
from itertools import groupby

from sumpool import __version__
from sumpool.inference.rendering import Style
from sumpool.inference.summary import EvidenceSource, Summary
from sumpool.io.html import escape_html, html_page, language_attribute
from sumpool.text.cleaning import escape_line
from sumpool.text.language import word_count

_STYLE = """
body { max-width: 42rem; font-size: 1.1rem; }
footer { margin-top: 2rem; padding-top: .5rem; border-top: 1px solid var(--line); }
footer { color: var(--muted); font-size: .85rem; }
"""
_TAGS = {"heading": "h3", "code": "pre"}
_CLASSES = {"list_item": "item", "table_row": "row", "caption": "caption", "notice": "notice"}
_STATES = ":is(:hover, :focus-within, :target)"
_POINTED = "background: var(--pointed); text-decoration: underline 2px var(--accent);"


def render_page(summary: Summary, style: Style) -> str:
    """Render a summary without evidence as an HTML page."""
    language = language_attribute(summary.language)
    if style == "bullets":
        items = "".join(f"<li>{escape_html(sentence)}</li>\n" for sentence in summary.items())
        text = f"<ul>\n{items}</ul>"
    else:
        paragraphs = filter(None, summary.text.split("\n"))
        text = "\n".join(f"<p>{escape_html(paragraph)}</p>" for paragraph in paragraphs)
    text = "\n".join([text, *_overview(summary)])
    title = escape_line(summary.title or summary.id)
    share = f"{summary.tokens_read:,} of {summary.tokens_total:,} tokens read"
    about = f"<bdi>{escape_html(summary.id)}</bdi>: {summary.mode} summary by {escape_html(summary.model)}, {share}"
    heading = f'<h1{language} dir="auto">{escape_html(title)}</h1>'
    body = f'<main>\n{heading}\n<div{language} dir="auto">\n{text}\n</div>\n</main>\n<footer>{about}</footer>'
    return html_page(title, body, _STYLE)


def _overview(summary: Summary, target: str = "") -> list[str]:
    """Render key points and sections as HTML; links lead to `target` and the index of each sentence."""

    def span(source: EvidenceSource) -> str:
        return f'<span dir="auto">{escape_html(source.text)}</span>'

    def placed(source: EvidenceSource) -> str:
        place = escape_html(source.place or f"sentence {source.index + 1}")
        return f"{span(source)} " + (f'<a href="#{target}{source.index}">{place}</a>' if target else f"({place})")

    blocks = []
    if summary.key_points:
        points = "".join(f"<li>{placed(point)}</li>\n" for point in summary.key_points)
        blocks.append(f"<h2>Key points</h2>\n<ul>\n{points}</ul>")
    if summary.sections:
        items = ""
        for section in summary.sections:
            items += f'<dt class="level{section.level}">{placed(section.heading)}</dt>\n'
            for sentence in section.sentences:
                items += f'<dd class="level{section.level}">{span(sentence)}</dd>\n'
        blocks.append(f"<h2>Sections</h2>\n<dl>\n{items}</dl>")
    return blocks


def render_explanation(summary: Summary) -> str:
    """Render the document with the evidence of its summary, which is that for a page, as an HTML page.

    Without evidence, the page has neither marks nor the lines of code.
    """
    evidence = summary.evidence or ()
    title, language = summary.title or summary.id, language_attribute(summary.language)
    some, words = word_count(summary.text), sum(word_count(sentence.text) for sentence in summary.source)
    wording = "sentences of the document" if summary.mode == "extractive" else "generated; check it against its sources"
    about = [f"<bdi>{escape_html(summary.id)}</bdi>", f"{some:,} of {words:,} words", wording if some else ""]
    # 1. The sentences of the summary, each with links to its sources.
    items = []
    for number, entry in enumerate(evidence, 1):
        items.append(f'<li class="sentence" id="s{number}"><p{language} dir="auto">{escape_html(entry.sentence)}</p>')
        if entry.unsupported:
            facts = ", ".join(f"<strong>{escape_html(fact)}</strong>" for fact in entry.unsupported)
            items.append(f'<p class="unsupported">Not in the document: {facts}</p>')
        if entry.sources:
            items.append(f'<ul class="sources" aria-label="Sources of sentence {number}">')
            for source in entry.sources:
                place = escape_html(source.place or f"sentence {source.index + 1}")
                weight = f" {source.weight:.0%}" if len(entry.sources) > 1 else ""
                items.append(f'<li><a href="#d{source.index}">{place}</a>{weight}</li>')
            items.append("</ul>")
        items.append("</li>")
    if not summary.text:
        shown = f"<p>No summary: {escape_html(summary.reason)}</p>"
    elif not items:
        shown = f'<p{language} dir="auto">{escape_html(summary.text)}</p>'
    else:
        shown = "\n".join(['<ol class="sentences">', *items, "</ol>"])
    # 2. What developers of models ask: model, share that was read, and notes.
    model = f"model {escape_html(summary.model)}" if summary.model and summary.tokens_read else "no model was needed"
    details = ["<details><summary>How it was made</summary>"]
    details.append(f"<p>{escape_html(summary.mode)} summary, {model}, sumpool {__version__}</p>")
    if summary.tokens_total:
        percent = f"{summary.tokens_read / summary.tokens_total:.0%}"
        share = f"{summary.tokens_read:,} of {summary.tokens_total:,} tokens ({percent})"
        details.append(
            f'<p><meter min="0" max="{summary.tokens_total}" value="{summary.tokens_read}" '
            f'aria-label="Share of the document that was read">{percent}</meter> read {share}</p>'
        )
    details += [f"<p>{escape_html(note)}</p>" for note in (summary.cause, *summary.notes) if note]
    made = "\n".join([*details, "</details>"])
    # 3. The rules of this page; nothing of the document is in them.
    rules = [files("sumpool.inference").joinpath("explanation.css").read_text("utf-8")]
    for number in range(1, len(evidence) + 1):
        rules.append(f"body:has(#s{number}{_STATES}) .f{number} {{ {_POINTED} }}")
        rules.append(
            f"#s{number}{_STATES}, body:has(.f{number}{_STATES}) #s{number} "
            "{ background: var(--pointed); border-color: var(--accent); }"
        )
    body = f"""\
<a class="skip" href="#document">Skip to the document</a>
<header>
<h1{language} dir="auto">{escape_html(title)}</h1>
<p class="muted">{" · ".join(filter(None, about))}</p>
</header>
<main class="columns">
<section class="summary" aria-labelledby="summary-title" tabindex="0">
<h2 id="summary-title">Summary</h2>
{shown}
{"".join(_overview(summary, "d"))}
{made}
</section>
<article class="document" id="document" aria-labelledby="document-title">
<h2 id="document-title">Document</h2>
<div{language} dir="auto">
{_document(summary)}
</div>
</article>
</main>"""
    return html_page(f"Summary of {title}", body, "\n".join(rules))


def _document(summary: Summary) -> str:
    """Render the blocks of the document, with links to the summary and the place where the model stopped reading."""
    linked = {point.index for point in summary.key_points or ()}
    linked |= {section.heading.index for section in summary.sections or ()}
    last_read = max(summary.read) if summary.read else None
    used: dict[int, list[int]] = {}  # numbers of the summary sentences by the source sentence that they come from
    for number, entry in enumerate(summary.evidence or (), 1):
        for origin in entry.sources:
            used.setdefault(origin.index, []).append(number)
    parts: list[str] = []
    page, stopped = None, last_read is None
    for (_, kind), group in groupby(enumerate(summary.source), key=lambda item: (item[1].block, item[1].kind)):
        texts: list[str] = []
        for index, sentence in group:
            if not texts and sentence.page not in (None, page):
                page = sentence.page
                parts.append(f'<p class="place">page {page}</p>')
            if not texts and not stopped and last_read is not None and index > last_read:
                parts.append('<p class="stop">The model did not read the text from here on.</p>')
                stopped = True
            text, numbers = escape_html(sentence.text), used.get(index, ())
            if kind == "code" and summary.document:  # with its lines
                text = escape_html(summary.document[sentence.start : sentence.end])
            names = ["used", *(f"f{number}" for number in numbers)] if numbers else []
            if summary.read is not None and index not in summary.read and kind not in ("heading", "code"):
                names.append("unread")
            if names:
                identity = f' id="d{index}"' if numbers else ""
                back = "".join(
                    f'<a class="back" href="#s{number}" aria-label="Sentence {number} of the summary">{number}</a>'
                    for number in numbers
                )
                text = f'<span{identity} class="{" ".join(names)}">{text}{back}</span>'
            texts.append(f'<a id="d{index}"></a>{text}' if index in linked and not numbers else text)
        tag, name = _TAGS.get(kind, "p"), _CLASSES.get(kind, "text")
        parts.append(f'<{tag} dir="auto" class="{name}">{" ".join(texts)}</{tag}>')
    return "\n".join(parts)
