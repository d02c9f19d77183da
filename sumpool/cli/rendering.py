"""Summaries as text, Markdown, JSON and HTML."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from sumpool.text.cleaning import escape_line, escape_markdown, escape_markdown_line
from sumpool.text.language import separator

if TYPE_CHECKING:
    from sumpool.inference.summary import SectionSummary, Summary
    from sumpool.interpret.evidence import EvidenceSource

Format = Literal["text", "markdown", "json", "html"]
Style = Literal["paragraph", "bullets"]

SUFFIXES: dict[Format, str] = {"text": ".txt", "markdown": ".md", "json": ".json", "html": ".html"}
"""Suffixes of the files in each format."""

_STYLE = """
body { max-width: 42rem; font-size: 1.1rem; }
footer { margin-top: 2rem; padding-top: .5rem; border-top: 1px solid var(--line); }
footer { color: var(--muted); font-size: .85rem; }
"""


class Rendering(NamedTuple):
    """Format of summaries.

    Attributes:
        format: Format of the text.
        style: Running text, or an item per sentence.
        title: Whether the title of the document comes first, as it always does on an HTML page; None where the summary
            does not name it.
    """

    format: Format = "text"
    style: Style = "paragraph"
    title: bool | None = None

    def render(self, summary: "Summary") -> str:
        """Render a summary, without a line feed at its end."""
        if self.format == "json":
            return summary.as_json()
        if self.format == "html" and summary.evidence:
            from sumpool.inference.explanation import render_explanation

            return render_explanation(summary).rstrip("\n")
        if self.format == "html":
            return _html(summary, self.style)
        if self.format == "markdown":
            heading = f"# {escape_markdown(_title(summary))}\n\n" if self._has_title(summary) else ""
            return _markdown(summary, self.style, heading)
        return _text(summary, self.style, f"{_title(summary)}\n\n" if self._has_title(summary) else "")

    def _has_title(self, summary: "Summary") -> bool:
        return not _names_title(summary) if self.title is None else self.title

    def render_id(self, summary: "Summary") -> str:
        """Render the id of the document as a line above its summary."""
        return f"**{escape_markdown_line(summary.id)}**\n" if self.format == "markdown" else escape_line(summary.id)

    def settings(self) -> dict[str, str]:
        """Return the settings by name."""
        return {name: str(value) for name, value in self._asdict().items()}


def _names_title(summary: "Summary") -> bool:
    """Return whether a summary has more than half of the content words of its title, by their beginnings, if any."""
    from sumpool.text.language import content_prefixes, split_words

    language = summary.language
    title, text = (
        set(content_prefixes(split_words(part, language), language)) for part in (summary.title, summary.summary)
    )
    return not title or len(title & text) > len(title) / 2


def _text(summary: "Summary", style: Style, heading: str) -> str:
    text = heading + (_list(_items(summary), str) if style == "bullets" else summary.summary)
    if summary.key_points:
        text = f"{text}\n\nKey points\n\n{_list(map(_with_place, summary.key_points), str)}"
    if summary.sections:
        text = f"{text}\n\nSections\n\n{_list_sections(summary.sections, str)}"
    if not summary.evidence:
        return text
    # Imported here and below, as few ask for evidence.
    from sumpool.interpret.evidence import render_evidence_text

    return f"{text}\n\n{render_evidence_text(summary.evidence)}"


def _markdown(summary: "Summary", style: Style, heading: str) -> str:
    convert = _markdown_item
    text = heading + (_list(_items(summary), convert) if style == "bullets" else escape_markdown(summary.summary))
    if summary.key_points:
        text = f"{text}\n\n## Key points\n\n{_list(map(_with_place, summary.key_points), convert)}"
    if summary.sections:
        text = f"{text}\n\n## Sections\n\n{_list_sections(summary.sections, convert)}"
    if not summary.evidence:
        return text
    parts = []
    for number, entry in enumerate(summary.evidence.sentences, 1):
        parts.append(f"{number}. {convert(entry.sentence)}")
        parts += [f"    - {source.weight:.0%}{_place(source)}: {convert(source.text)}" for source in entry.sources]
        parts += [f"    - not in the document: {convert(', '.join(entry.unsupported))}"] if entry.unsupported else []
    return "\n".join([f"{text}\n\n## Evidence\n", *parts])


def _html(summary: "Summary", style: Style) -> str:
    # Imported here, as the other formats do not need it.
    from sumpool.inference.overview import html_points, html_sections
    from sumpool.io.html import escape_html, html_page, language_attribute

    title = _title(summary)
    language = language_attribute(summary.language)
    if style == "bullets":
        items = "".join(f"<li>{escape_html(sentence)}</li>\n" for sentence in _items(summary))
        text = f"<ul>\n{items}</ul>"
    else:
        paragraphs = filter(None, summary.summary.split("\n"))
        text = "\n".join(f"<p>{escape_html(paragraph)}</p>" for paragraph in paragraphs)
    if summary.key_points:
        text += f"\n<h2>Key points</h2>\n{html_points(summary.key_points)}"
    if summary.sections:
        text += f"\n<h2>Sections</h2>\n{html_sections(summary.sections)}"
    share = f"{summary.tokens_read:,} of {summary.tokens_total:,} tokens read"
    about = f"<bdi>{escape_html(summary.id)}</bdi>: {summary.mode} summary by {escape_html(summary.model)}, {share}"
    heading = f'<h1{language} dir="auto">{escape_html(title)}</h1>'
    body = f'<main>\n{heading}\n<div{language} dir="auto">\n{text}\n</div>\n</main>\n<footer>{about}</footer>'
    return html_page(title, body, _STYLE).rstrip("\n")


def _place(source: "EvidenceSource") -> str:
    from sumpool.interpret.evidence import place_name

    place = place_name(source)
    return f" ({place})" if place else ""


def _items(summary: "Summary") -> list[str]:
    """Return the items of a list: the sentences, and a table of contents as one of them."""
    indices = summary.extraction.indices if summary.source else ()
    is_heading = [summary.source[index].kind == "heading" for index in indices]
    start = is_heading.index(True) if True in is_heading else len(summary.sentences)
    contents = separator(summary.language).join(summary.sentences[start:])
    return [*summary.sentences[:start], *filter(None, (contents,))]


def _with_place(source: "EvidenceSource") -> str:
    return source.text + _place(source)


def _list_sections(sections: "Iterable[SectionSummary]", convert: Callable[[str], str]) -> str:
    """Return a nested list of the sections: heading, place and sentences of each."""
    lines = []
    for section in sections:
        texts = [_with_place(section.heading), *(sentence.text for sentence in section.sentences)]
        lines.append(
            "  " * (section.level - 1) + f"- {convert(': '.join(filter(None, (texts[0], ' '.join(texts[1:])))))}"
        )
    return "\n".join(lines)


def _list(sentences: Iterable[str], convert: Callable[[str], str]) -> str:
    return "\n".join(f"- {convert(sentence)}" for sentence in sentences)


def _markdown_item(sentence: str) -> str:
    """Escape a sentence within an item of a list, as one line."""
    return escape_markdown_line(" ".join(sentence.split()))


def _title(summary: "Summary") -> str:
    return escape_line(summary.title or summary.id)
