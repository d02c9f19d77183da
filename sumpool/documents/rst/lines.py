"""Lines of reStructuredText, and the indented parts that they form."""

from collections.abc import Sequence
from typing import NamedTuple


class SourceLine(NamedTuple):
    """Line of a source.

    Attributes:
        number: Number in the source, from 1.
        indent: Leading spaces.
        text: Line without leading and trailing space; empty for an empty line.
    """

    number: int
    indent: int
    text: str


def source_lines(text: str) -> list[SourceLine]:
    """Split a text into lines, with tabs expanded."""
    lines = []
    for number, line in enumerate(text.expandtabs().split("\n"), 1):
        stripped = line.strip()
        lines.append(SourceLine(number, len(line) - len(line.lstrip()) if stripped else 0, stripped))
    return lines


def indented_end(lines: Sequence[SourceLine], start: int, indent: int) -> int:
    """Return the index behind the lines from `start` that are empty or indented by more than `indent`."""
    end = start
    for index in range(start, len(lines)):
        if lines[index].text:
            if lines[index].indent <= indent:
                break
            end = index + 1
    return end


def paragraph_end(lines: Sequence[SourceLine], start: int) -> int:
    """Return the index behind the lines from `start` that are not empty."""
    end = start
    while end < len(lines) and lines[end].text:
        end += 1
    return end


def with_first(line: SourceLine, mark: int, rest: Sequence[SourceLine]) -> list[SourceLine]:
    """Return the lines of an item whose text begins `mark` characters into its first line."""
    text = line.text[mark:].strip()
    indent = line.indent + len(line.text) - len(line.text[mark:].lstrip())
    return [SourceLine(line.number, indent, text), *rest] if text else list(rest)


def literal_text(lines: Sequence[SourceLine]) -> str:
    """Return lines with their indentation relative to the least indented one."""
    indent = min((line.indent for line in lines if line.text), default=0)
    return "\n".join(" " * (line.indent - indent) + line.text if line.text else "" for line in lines).strip("\n")
