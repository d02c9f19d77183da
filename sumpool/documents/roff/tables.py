"""Tables of tbl."""

import re
from collections.abc import Iterator, Sequence

from sumpool.documents.roff.text import without_comment

_SEPARATOR = re.compile(r"\btab\s*\((?P<mark>.)\)")


def table_rows(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row of a table between .TS and .TE, with the index of the row's first line."""
    separator, in_format, in_cell = "\t", True, False
    cells: list[str] = []
    start = 0
    for index, line in enumerate(lines):
        if in_format:
            mark = _SEPARATOR.search(line)
            separator = mark["mark"] if mark else separator
            in_format = not line.rstrip().endswith(".")
        elif line.startswith(".T&"):
            in_format = True
        elif in_cell:
            in_cell = not line.startswith("T}")
            if in_cell:
                cells[-1] += " " + _cell_line(line)
            else:
                cells += line[2:].removeprefix(separator).split(separator) if line[2:].strip() else []
                in_cell = _opens_cell(cells)
        elif line.startswith((".", "'")) or line.strip() in ("_", "=", ""):
            continue
        else:
            cells, start = without_comment(line).split(separator), index
            in_cell = _opens_cell(cells)
        if cells and not in_cell:
            yield start, cells
            cells = []
    if cells:
        yield start, cells


def _opens_cell(cells: list[str]) -> bool:
    """Return whether the last cell goes on in the next lines; its mark is removed."""
    if cells and cells[-1].strip() == "T{":
        cells[-1] = ""
        return True
    return False


def _cell_line(line: str) -> str:
    """Return a line of a cell without the name of a request."""
    return re.sub(r"^[.'][ \t]*[A-Za-z]{1,3}\b ?", "", line)
