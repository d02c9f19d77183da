"""Terminal output: escaped text, number formatting, tables.

Control and bidirectional characters of documents, summaries and file names are escaped before they reach a terminal.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_NUMBER = re.compile(r"[-+]?\d|-?$")
"""Cell of a numeric column: a number, or the mark of a missing one."""


def inert(text: str) -> str:
    """Escape control and bidirectional characters, as JSON does."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def format_metric(value: float | str) -> str:
    """Format a metric with four significant digits: 3.457, 12,034, 0.00012."""
    if isinstance(value, str):
        return inert(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or isinstance(value, int) else f"{value:.4g}"


def complain(sentence: str) -> None:
    """Write an escaped line to stderr."""
    sys.stderr.write(f"{inert(sentence)}\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", keys: int = 1) -> str:
    """Lay out rows as text: numeric columns aligned right, others left.

    A table wider than a line is split into blocks of columns below each other.

    Args:
        columns: Column titles.
        rows: Cells, as many per row as there are titles.
        title: Line above the table; none if empty.
        keys: Leading columns that name a row, repeated in every block.
    """
    cells = [[inert(cell) for cell in row] for row in (columns, *rows)]
    layout = [_align(column) for column in zip(*cells, strict=True)]
    blocks = [layout[:keys]]
    for column in layout[keys:]:
        if len(blocks[-1]) > keys and sum(len(other[0]) + 2 for other in blocks[-1]) + len(column[0]) > line_width():
            blocks.append(layout[:keys])
        blocks[-1] = [*blocks[-1], column]
    return "\n\n".join(["\n".join([*([inert(title)] if title else []), _block(blocks[0])]), *map(_block, blocks[1:])])


def _align(column: Sequence[str]) -> list[str]:
    """Pad title and cells of a column to equal width."""
    width = max(map(len, column))
    right = all(_NUMBER.match(cell) for cell in column[1:])
    return [cell.rjust(width) if right else cell.ljust(width) for cell in column]


def _block(columns: Sequence[Sequence[str]]) -> str:
    head, *rows = ("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))
    rule = "─" * (sum(len(column[0]) + 2 for column in columns) - 2)
    return "\n".join([head, rule, *rows])


def wrap(line: str) -> str:
    """Break a line between words to the width of a line; continuation lines are indented."""
    width = line_width()
    return "\n".join(textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def line_width() -> int:
    """Width of printed lines: that of the terminal, at least 80 characters, or 100 without a terminal."""
    return max(80, shutil.get_terminal_size((100, 24)).columns)
