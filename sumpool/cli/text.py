"""Words for a person: safe for any terminal, numbers with sensible digits, tables.

Documents, summaries and file names never reach a terminal as they are: control and direction characters are spelt out.
"""

import re
import sys
from collections.abc import Sequence

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_NUMBER = re.compile(r"[-+]?\d|-?$")
"""A cell that belongs to a column of numbers, or stands for a missing one."""


def inert(text: str) -> str:
    """Spell out what could command a terminal or turn the direction of writing, in a way that JSON reads back."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def figure(value: float | str) -> str:
    """Write a number with as many digits as a reader needs: 3.457, 12,034, 0.00012."""
    if isinstance(value, str):
        return inert(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or isinstance(value, int) else f"{value:.4g}"


def complain(sentence: str) -> None:
    """Write a sentence to stderr."""
    sys.stderr.write(f"{inert(sentence)}\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """Lay out rows as text: columns of numbers to the right, others to the left.

    Args:
        columns: Headings.
        rows: Cells, as many per row as there are headings.
        title: A line above the table; none if empty.
    """
    cells = [[inert(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [all(_NUMBER.match(cell) for cell in column[1:]) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([*([inert(title)] if title else []), lines[0], rule, *lines[1:]])
