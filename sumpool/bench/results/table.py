"""A table, as headings and cells; whoever prints it lays it out."""

import math
from dataclasses import dataclass

MISSING = "-"
"""Stands where nothing was measured."""


@dataclass(frozen=True)
class Table:
    """What is printed.

    Attributes:
        title: What it is about.
        columns: Headings.
        rows: Cells, as many as there are headings.
        notes: Sentences below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def number(value: float | None, digits: int) -> str:
    """Write a number with so many digits after the point, or that there is none."""
    return MISSING if value is None else f"{value:,.{digits}f}"


def ratio(value: float | None, base: float | None, digits: int = 2) -> str:
    """Write value / base, or that one of them is missing."""
    return number(value / base if value is not None and base else None, digits)


def significant(value: float | None, digits: int = 3) -> str:
    """Write a number with so many digits that count, and none of a whole number left out: 0.0123, 4.56, 12,345."""
    if value is None:
        return MISSING
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(places, 0)}f}"


def percent(value: float | None) -> str:
    """Write a share as whole percents."""
    return MISSING if value is None else f"{100 * value:.0f} %"
