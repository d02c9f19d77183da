"""A table, as headings and cells; whoever prints it lays it out."""

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
