"""Summaries as text, Markdown, JSON and HTML."""

import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from sumpool.inference.summaries import Summary

Format = Literal["text", "markdown", "json", "html"]
Style = Literal["paragraph", "bullets"]

SUFFIXES: dict[Format, str] = {"text": ".txt", "markdown": ".md", "json": ".json", "html": ".html"}
"""Suffixes of the files in each format."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LINE_MARK = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)", re.MULTILINE)
"""Marks that begin a list item in Markdown."""
_PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem }}
footer {{ font-size: .85rem; margin-top: 2rem; border-top: 1px solid; padding-top: .5rem }}
</style>
<main>
<h1>{title}</h1>
{body}
<footer>{footer}</footer>
</main>
</html>"""


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
    if style == "bullets":
        items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in summary.sentences)
        body = f"<ul>\n{items}\n</ul>"
    else:
        body = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in summary.summary.split("\n"))
    share = f"{summary.tokens_read:,} of {summary.tokens_total:,} tokens read"
    footer = escape(f"{summary.id}: {summary.mode} summary by {summary.model}, {share}")
    return _PAGE.format(language=summary.language or "en", title=escape(_title(summary)), body=body, footer=footer)


def _title(summary: "Summary") -> str:
    return summary.title or summary.id
