"""Summaries as text, Markdown, JSON and HTML."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from sumpool.io.html import escape_html, html_page, language_attribute

if TYPE_CHECKING:
    from sumpool.inference.summaries import Summary

Format = Literal["text", "markdown", "json", "html"]
Style = Literal["paragraph", "bullets"]

SUFFIXES: dict[Format, str] = {"text": ".txt", "markdown": ".md", "json": ".json", "html": ".html"}
"""Suffixes of the files in each format."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LINE_MARK = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)", re.MULTILINE)
"""Marks that begin a list item in Markdown."""
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
        title: Whether the title of the document comes first; that of an HTML page always does.
    """

    format: Format = "text"
    style: Style = "paragraph"
    title: bool = False

    def render(self, summary: "Summary") -> str:
        """Render a summary, without a line feed at its end."""
        if self.format == "json":
            return summary.as_json()
        if self.format == "html":
            return _html(summary, self.style)
        if self.format == "markdown":
            heading = f"# {_markdown(_title(summary))}\n\n" if self.title else ""
            return _text(summary, self.style, heading, _markdown)
        return _text(summary, self.style, f"{_title(summary)}\n\n" if self.title else "", str)

    def settings(self) -> dict[str, str]:
        """Return the settings by name."""
        return {name: str(value) for name, value in self._asdict().items()}


def _text(summary: "Summary", style: Style, heading: str, convert: Callable[[str], str]) -> str:
    if style == "bullets":
        return heading + "\n".join(f"- {convert(sentence)}" for sentence in summary.sentences)
    return heading + convert(summary.summary)


def _markdown(text: str) -> str:
    """Escape the characters that Markdown interprets."""
    return _LINE_MARK.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", text))


def _html(summary: "Summary", style: Style) -> str:
    language = language_attribute(summary.language)
    if style == "bullets":
        items = "\n".join(f"<li>{escape_html(sentence)}</li>" for sentence in summary.sentences)
        text = f'<ul{language} dir="auto">\n{items}\n</ul>'
    else:
        paragraphs = summary.summary.split("\n")
        text = "\n".join(f'<p{language} dir="auto">{escape_html(paragraph)}</p>' for paragraph in paragraphs)
    share = f"{summary.tokens_read:,} of {summary.tokens_total:,} tokens read"
    about = f"<bdi>{escape_html(summary.id)}</bdi>: {summary.mode} summary by {escape_html(summary.model)}, {share}"
    heading = f'<h1{language} dir="auto">{escape_html(_title(summary))}</h1>'
    body = f"<main>\n{heading}\n{text}\n</main>\n<footer>{about}</footer>"
    return html_page(_title(summary), body, _STYLE).rstrip("\n")


def _title(summary: "Summary") -> str:
    return summary.title or summary.id
