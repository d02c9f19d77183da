"""Explanation of a summary as one HTML file: the document with its evidence, the summary beside it.

Pointing at a sentence of the summary marks its sources, and pointing at a source marks the sentences that come from it;
links lead from one to the other. All of it is style sheets: the page has no script, and its policy admits none.
"""

from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from sumpool import __version__
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.summary import Summary
from sumpool.interpret.evidence import Evidence, SentenceEvidence, place_name
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.html import escape_html, html_page, language_attribute
from sumpool.text.language import word_count

_TAGS = {"heading": "h3", "code": "pre"}
_CLASSES = {"list_item": "item", "table_row": "row", "caption": "caption", "notice": "notice"}
_STATES = ":is(:hover, :focus-within, :target)"
_POINTED = "background: var(--pointed); text-decoration: underline 2px var(--accent);"
_EMPTY = Evidence(())


def write_explanation(path: Path, summary: Summary) -> None:
    """Write the explanation of a summary.

    Args:
        path: The file, which is replaced as a whole.
        summary: Summary with evidence for a page; without it, the page has neither marks nor the lines of code.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    with disk_errors(path):
        replace_file(path, render_explanation(summary).encode())


def render_explanation(summary: Summary) -> str:
    """Render the explanation of a summary as an HTML page."""
    evidence = summary.evidence or _EMPTY
    title = summary.title or summary.id
    language = language_attribute(summary.language)
    body = f"""\
<a class="skip" href="#document">Skip to the document</a>
<header>
<h1{language} dir="auto">{escape_html(title)}</h1>
{_about(summary)}
</header>
<main class="columns">
<section class="summary" aria-labelledby="summary-title" tabindex="0">
<h2 id="summary-title">Summary</h2>
{_summary(summary, evidence, language)}
{_overview(summary)}
{_details(summary)}
</section>
<article class="document" id="document" aria-labelledby="document-title">
<h2 id="document-title">Document</h2>
<div{language} dir="auto">
{_document(summary, evidence)}
</div>
</article>
</main>"""
    style = files("sumpool.inference").joinpath("explanation.css").read_text("utf-8")
    return html_page(f"Summary of {title}", body, "\n".join([style, *_rules(evidence)]))


def _about(summary: Summary) -> str:
    """Source, words, and whether the sentences are those of the document."""
    some, words = word_count(summary.summary), sum(word_count(sentence.text) for sentence in summary.source)
    wording = "sentences of the document" if summary.mode == "extractive" else "generated; check it against its sources"
    parts = [f"<bdi>{escape_html(summary.id)}</bdi>", f"{some:,} of {words:,} words", wording if some else ""]
    return f'<p class="muted">{" · ".join(filter(None, parts))}</p>'


def _details(summary: Summary) -> str:
    """What developers of models ask: model, share that was read, and notes."""
    model = f"model {escape_html(summary.model)}" if summary.model and summary.tokens_read else "no model was needed"
    lines = [f"<p>{escape_html(summary.mode)} summary, {model}, sumpool {__version__}</p>"]
    if summary.tokens_total:
        percent = f"{summary.tokens_read / summary.tokens_total:.0%}"
        share = f"{summary.tokens_read:,} of {summary.tokens_total:,} tokens ({percent})"
        lines.append(
            f'<p><meter min="0" max="{summary.tokens_total}" value="{summary.tokens_read}" '
            f'aria-label="Share of the document that was read">{percent}</meter> read {share}</p>'
        )
    notes = [summary.extraction.cause, *summary.notes]
    lines += [f"<p>{escape_html(note)}</p>" for note in notes if note]
    return "\n".join(["<details><summary>How it was made</summary>", *lines, "</details>"])


def _summary(summary: Summary, evidence: Evidence, language: str) -> str:
    if not summary.summary:
        return f"<p>No summary: {escape_html(summary.reason)}</p>"
    if not evidence.sentences:
        return f'<p{language} dir="auto">{escape_html(summary.summary)}</p>'
    items = (_sentence(number, entry, language) for number, entry in enumerate(evidence.sentences, 1))
    return "\n".join(['<ol class="sentences">', *items, "</ol>"])


def _sentence(number: int, entry: SentenceEvidence, language: str) -> str:
    """Sentence of the summary with links to its sources."""
    parts = [f'<li class="sentence" id="s{number}"><p{language} dir="auto">{escape_html(entry.sentence)}</p>']
    if entry.unsupported:
        facts = ", ".join(f"<strong>{escape_html(fact)}</strong>" for fact in entry.unsupported)
        parts.append(f'<p class="unsupported">Not in the document: {facts}</p>')
    places = [place_name(source) or f"sentence {source.index + 1}" for source in entry.sources]
    links = [
        f'<li><a href="#d{source.index}">{place}</a>{f" {source.weight:.0%}" if len(places) > 1 else ""}</li>'
        for source, place in zip(entry.sources, places, strict=True)
    ]
    if links:
        parts += [f'<ul class="sources" aria-label="Sources of sentence {number}">', *links, "</ul>"]
    return "\n".join([*parts, "</li>"])


def _overview(summary: Summary) -> str:
    """Key points and sections, with links to the document."""
    if not (summary.key_points or summary.sections):
        return ""
    # Imported here, as few ask for more than a summary.
    from sumpool.inference.overview import html_points, html_sections

    points = f"<h2>Key points</h2>\n{html_points(summary.key_points, 'd')}" if summary.key_points else ""
    return points + (f"<h2>Sections</h2>\n{html_sections(summary.sections, 'd')}" if summary.sections else "")


def _document(summary: Summary, evidence: Evidence) -> str:
    """Blocks of the document, with the place where the model stopped reading."""
    source = summary.source
    linked = {point.index for point in summary.key_points or ()} | {
        part.heading.index for part in summary.sections or ()
    }
    read = evidence.read
    last_read = max(read) if read else None
    used: dict[int, list[int]] = {}  # numbers of the summary sentences by the source sentence that they come from
    for number, entry in enumerate(evidence.sentences, 1):
        for origin in entry.sources:
            used.setdefault(origin.index, []).append(number)
    parts: list[str] = []
    page = None
    stopped = last_read is None
    for (_, kind), group in groupby(enumerate(source), key=lambda item: (item[1].block, item[1].kind)):
        sentences = list(group)
        first, sentence = sentences[0]
        if sentence.page is not None and sentence.page != page:
            page = sentence.page
            parts.append(f'<p class="place">page {page}</p>')
        if not stopped and last_read is not None and first > last_read:
            parts.append('<p class="stop">The model did not read the text from here on.</p>')
            stopped = True
        tag, name = _TAGS.get(kind, "p"), _CLASSES.get(kind, "text")
        text = " ".join(
            f'<a id="d{index}"></a>{text}' if index in linked and index not in used else text
            for index, text in ((index, _source_sentence(index, part, evidence, used)) for index, part in sentences)
        )
        parts.append(f'<{tag} dir="auto" class="{name}">{text}</{tag}>')
    return "\n".join(parts)


def _source_sentence(index: int, sentence: SourceSentence, evidence: Evidence, used: dict[int, list[int]]) -> str:
    """Sentence of the document, with links to the sentences of the summary that come from it."""
    text = escape_html(sentence.text)
    if sentence.kind == "code" and evidence.text:
        text = escape_html(evidence.text[sentence.start : sentence.end])
    names = ["used", *(f"f{number}" for number in used.get(index, ()))] if index in used else []
    if evidence.read is not None and index not in evidence.read and sentence.kind not in ("heading", "code"):
        names.append("unread")
    links = "".join(
        f'<a class="back" href="#s{number}" aria-label="Sentence {number} of the summary">{number}</a>'
        for number in used.get(index, ())
    )
    if not names:
        return text
    identity = f' id="d{index}"' if index in used else ""
    return f'<span{identity} class="{" ".join(names)}">{text}{links}</span>'


def _rules(evidence: Evidence) -> Iterator[str]:
    """Rules of this page; nothing of the document is in them."""
    for number in range(1, len(evidence.sentences) + 1):
        yield f"body:has(#s{number}{_STATES}) .f{number} {{ {_POINTED} }}"
        yield (
            f"#s{number}{_STATES}, body:has(.f{number}{_STATES}) #s{number} "
            "{ background: var(--pointed); border-color: var(--accent); }"
        )
