"""Tables of reStructuredText: grid tables, simple tables, and list-table and csv-table directives."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sumpool.documents.rst.lines import SourceLine, paragraph_end

GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+$")
SIMPLE_BORDER = re.compile(r"=+(?: +=+)+$")
_SPAN = re.compile(r"-+(?: +-+)*$")
_ROW_MARK = re.compile(r"\*\s*-\s?(?P<text>.*)")


def grid_rows(lines: Sequence[SourceLine]) -> Iterator[tuple[int, str]]:
    """Yield the rows of a grid table, each with its first line's number; cells are joined with a space."""
    columns = [index for index, mark in enumerate(lines[0].text) if mark == "+"]
    pending: list[SourceLine] = []
    for line in lines[1:]:
        if line.text.startswith("+") and set(line.text) <= set("+-= |") and ("-" in line.text or "=" in line.text):
            yield from _row(pending, list(pairwise(columns)))
            pending = []
        else:
            pending.append(line)
    yield from _row(pending, list(pairwise(columns)))


def simple_rows(lines: Sequence[SourceLine]) -> Iterator[tuple[int, str]]:
    """Yield the rows of a simple table; a line without a first cell continues the row above."""
    starts = [match.start() for match in re.finditer("=+", lines[0].text)]
    columns = list(zip(starts, [*starts[1:], 10_000], strict=True))
    pending: list[SourceLine] = []
    for line in lines[1:]:
        if SIMPLE_BORDER.match(line.text) or _SPAN.match(line.text):
            yield from _row(pending, columns)
            pending = []
            continue
        line = line._replace(text=" " * (line.indent - lines[0].indent) + line.text)
        if line.text[: columns[0][1]].strip() and pending:
            yield from _row(pending, columns)
            pending = []
        pending.append(line)
    yield from _row(pending, columns)


def simple_table_end(lines: Sequence[SourceLine], start: int) -> int:
    """Return the index behind the last border of a simple table."""
    borders = 0
    for index in range(start, len(lines)):
        borders += bool(SIMPLE_BORDER.match(lines[index].text))
        last = index + 1 == len(lines) or not lines[index + 1].text
        if borders > 1 and last and SIMPLE_BORDER.match(lines[index].text):
            return index + 1
    return paragraph_end(lines, start)


def list_table_rows(lines: Sequence[SourceLine]) -> Iterator[tuple[int, str]]:
    """Yield the rows of a list-table: outer bullets are rows, inner ones cells."""
    row: list[str] = []
    number = 0
    for line in lines:
        mark = _ROW_MARK.match(line.text)
        if mark:
            if row:
                yield number, " ".join(row)
            row, number = [mark["text"]], line.number
        elif line.text and row:
            row.append(line.text.removeprefix("- ").removeprefix("-"))
    if row:
        yield number, " ".join(row)


def csv_rows(lines: Sequence[SourceLine]) -> Iterator[tuple[int, str]]:
    """Yield the rows of a csv-table."""
    try:
        for row, line in zip(
            csv.reader([line.text for line in lines if line.text], skipinitialspace=True), lines, strict=False
        ):
            yield line.number, " ".join(row)
    except csv.Error:
        return


def _row(lines: Sequence[SourceLine], columns: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Yield the row that lines make up: the cells from left to right, each from top to bottom."""
    cells = [" ".join(line.text[start:end].strip("| ") for line in lines) for start, end in columns]
    text = " ".join(" ".join(cells).split())
    if text:
        yield lines[0].number, text
