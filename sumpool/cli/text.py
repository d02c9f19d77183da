"""Words for a person: safe for any terminal, numbers with sensible digits, tables.

Documents, summaries and file names never reach a terminal as they are: control and direction characters are spelt out.
"""

import re
import sys
from collections.abc import Sequence

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def inert(text: str) -> str:
    """Spell out what could command a terminal or turn the direction of writing: an escape becomes its code."""
    return _UNSAFE.sub(lambda found: ascii(found.group())[1:-1], text)


def figure(value: float | str) -> str:
    """Write a number with as many digits as a reader needs: 3.457, 12,034, 0.00012."""
    if isinstance(value, str):
        return inert(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or isinstance(value, int) else f"{value:.4g}"


def complain(sentence: str) -> None:
    """Write a sentence to stderr."""
    sys.stderr.write(f"{inert(sentence)}\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """Lay out rows as text, the first column to the left and the others to the right.

    Args:
        columns: Headings.
        rows: Cells, as many per row as there are headings.
        title: A line above the table; none if empty.
    """
    cells = [[inert(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([*([inert(title)] if title else []), lines[0], rule, *lines[1:]])
