"""Summaries as text, Markdown and JSON; pages of HTML are those of `html_pages`."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from sumpool.inference.summary import EvidenceSource, SentenceEvidence, Summary
from sumpool.text.cleaning import escape_line, escape_markdown, escape_markdown_line
from sumpool.text.language import content_words

Format = Literal["text", "markdown", "json", "html"]
Style = Literal["paragraph", "bullets"]

SUFFIXES: dict[Format, str] = {"text": ".txt", "markdown": ".md", "json": ".json", "html": ".html"}
"""Suffixes of the files in each format."""

_WIDTH = 100
"""Characters of a line of evidence in a text."""


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

    def render(self, summary: Summary) -> str:
        """Render a summary, without a line feed at its end."""
        if self.format == "json":
            return summary.as_json()
        if self.format == "html":
            # Imported here, as few summaries are pages.
            from sumpool.inference.html_pages import render_explanation, render_page

            page = render_explanation(summary) if summary.evidence else render_page(summary, self.style)
            return page.rstrip("\n")
        is_markdown = self.format == "markdown"
        convert: Callable[[str], str] = _markdown_line if is_markdown else str
        mark = "## " if is_markdown else ""
        title = escape_line(summary.title or summary.id)
        named, words = (content_words(text, summary.language) for text in (summary.title, summary.text))
        is_unnamed = bool(named) and len(named & words) <= len(named) / 2
        has_title = is_unnamed if self.title is None else self.title
        parts = [f"# {escape_markdown(title)}" if is_markdown else title] if has_title else []
        if self.style == "bullets":
            parts.append(_list(summary.items(), convert))
        else:
            parts.append(escape_markdown(summary.text) if is_markdown else summary.text)
        if summary.key_points:
            parts += [f"{mark}Key points", _list(map(_with_place, summary.key_points), convert)]
        if summary.sections:
            lines = []
            for section in summary.sections:
                text = " ".join(sentence.text for sentence in section.sentences)
                item = ": ".join(filter(None, (_with_place(section.heading), text)))
                lines.append("  " * (section.level - 1) + f"- {convert(item)}")
            parts += [f"{mark}Sections", "\n".join(lines)]
        if summary.evidence:
            parts.append((_evidence_markdown if is_markdown else _evidence_text)(summary.evidence))
        return "\n\n".join(parts)

    def render_id(self, summary: Summary) -> str:
        """Render the id of the document as a line above its summary."""
        return f"**{escape_markdown_line(summary.id)}**\n" if self.format == "markdown" else escape_line(summary.id)


def _list(sentences: Iterable[str], convert: Callable[[str], str]) -> str:
    return "\n".join(f"- {convert(sentence)}" for sentence in sentences)


def _markdown_line(text: str) -> str:
    """Escape a text as one line."""
    return escape_markdown_line(" ".join(text.split()))


def _with_place(source: EvidenceSource) -> str:
    return f"{source.text} ({source.place})" if source.place else source.text


def _evidence_text(evidence: Sequence[SentenceEvidence]) -> str:
    """Render evidence as an indented list: each sentence with its sources, their weights and places."""
    items = []
    for number, entry in enumerate(evidence, 1):
        items.append((f"{number}. ", entry.sentence))
        for source in entry.sources:
            text = f"{source.place}: {source.text}" if source.place else source.text
            items.append((f"   {source.weight:4.0%}  ", text))
        if entry.unsupported:
            items.append(("     !  ", f"not in the document: {', '.join(entry.unsupported)}"))
    lines: list[str] = []
    for mark, text in items:
        behind = " " * len(mark)
        lines += textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=behind, break_on_hyphens=False)
    return "\n".join(lines)


def _evidence_markdown(evidence: Sequence[SentenceEvidence]) -> str:
    lines = ["## Evidence\n"]
    for number, entry in enumerate(evidence, 1):
        lines.append(f"{number}. {_markdown_line(entry.sentence)}")
        for source in entry.sources:
            place = f" ({source.place})" if source.place else ""
            lines.append(f"    - {source.weight:.0%}{place}: {_markdown_line(source.text)}")
        if entry.unsupported:
            lines.append(f"    - not in the document: {_markdown_line(', '.join(entry.unsupported))}")
    return "\n".join(lines)
