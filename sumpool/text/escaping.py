"""Escapes of document text, ids, titles and file names, for terminals, logs, comments and Markdown.

Control and bidirectional characters change what a terminal or a reader sees; line feeds of a name begin a line that
looks like another message, setting or row of a table.
"""

import re
from collections.abc import Iterable, Sequence

from sumpool.text.cleaning import IGNORABLE, spelling

_UNSAFE_CHARACTERS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE = re.compile(f"[{_UNSAFE_CHARACTERS}]")
_UNSAFE_IN_LINE = re.compile(f"[\n{_UNSAFE_CHARACTERS}{IGNORABLE}]+")
"""Also line feeds, and characters without a shape that spelling does not need."""
_MARKDOWN = re.compile(r"([\\`*{}\[\]<>#|~]|&(?=#?[A-Za-z0-9]+;)|(?<![^\W_])_|_(?![^\W_]))")
"""Punctuation of Markdown: an underscore with a letter on one side only, an ampersand that begins an entity."""
_LINE_MARK = re.compile(r"^([ \t]*)(?:([-+])(?=\s)|(\d+)([.)])(?=\s)|([-=])(?=[-= \t]*$))", re.MULTILINE)
"""Beginnings of lines that Markdown takes for a list item, the rule below a heading, or a break."""


class Bold(str):
    """Text that is set in bold where that is possible, such as the best score of a table."""

    __slots__ = ()


def escape(text: str) -> str:
    """Escape control and bidirectional characters, as JSON does; line feeds and tabs stay."""
    return _UNSAFE.sub(lambda match: escape_characters(match.group()), text)


def escape_line(text: str) -> str:
    """Escape line feeds and invisible characters too: of ids, titles, file names and messages."""
    return _UNSAFE_IN_LINE.sub(
        lambda match: match[0] if spelling(match) == match[0] else escape_characters(match[0]), text
    )


def escape_characters(text: str) -> str:
    """Replace every character by its escape in JSON."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def escape_markdown(text: str) -> str:
    """Escape the characters that Markdown interprets, and those of `escape`; line feeds stay."""
    marked = _MARKDOWN.sub(r"\\\1", escape(text))
    return _LINE_MARK.sub(lambda match: "".join(_escape_mark(match.groups(""))), marked)


def escape_markdown_line(text: str) -> str:
    """Escape the characters that Markdown interprets, and those of `escape_line`."""
    return escape_markdown(escape_line(text))


def markdown_table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out a heading and rows of escaped cells as the lines of a table in Markdown."""
    heading, *others = rows
    return [f"| {' | '.join(cells)} |" for cells in (heading, ["---"] * len(heading), *others)]


def markdown_code(text: str) -> str:
    """Render text, such as a path, as a code span of one line."""
    line = escape_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def _escape_mark(parts: Sequence[str]) -> Sequence[str]:
    """Escape the punctuation in the parts of `_LINE_MARK`; a digit cannot be escaped."""
    space, bullet, number, point, rule = parts
    return space, f"\\{bullet}" if bullet else "", number, f"\\{point}" if point else "", f"\\{rule}" if rule else ""
