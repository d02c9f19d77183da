"""Tables of a benchmark as CSV for spreadsheets and as LaTeX for papers."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sumpool.bench.results.table import Column, Row, Table
from sumpool.errors import RecipeError
from sumpool.evaluation.exports import escape_latex, guard_cell
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.replaceable import require_unlisted


def to_csv(tables: Sequence[Table]) -> str:
    """Render tables as CSV, each below a line with its title, an empty line between them; numbers are unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for number, table in enumerate(tables):
        writer.writerows([[]] * (number > 0))
        writer.writerows([[guard_cell(table.title)], [guard_cell(heading) for heading in table.headings()]])
        writer.writerows([[_value(column, row) for column in table.columns] for row in table.rows])
    return text.getvalue()


def to_latex(tables: Sequence[Table]) -> str:
    r"""Render tables as LaTeX with `\usepackage{booktabs}`, titles and notes as comments."""
    lines: list[str] = []
    for table in tables:
        lines += [f"% {escape_latex(comment)}" for comment in (table.title, *table.notes)]
        columns = "l" * table.keys + "r" * (len(table.columns) - table.keys)
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _line(table.headings()), r"\midrule"]
        lines += [*map(_line, table.cells()), r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


_RENDER: Mapping[str, Callable[[Sequence[Table]], str]] = {"--csv": to_csv, "--latex": to_latex}


def require_writable(files: Mapping[str, Path | None]) -> None:
    """Make sure, before anything is measured, that tables can be written to the files of options.

    Raises:
        RecipeError: If the folder of a file does not exist, or a manifest lists the file.
    """
    for option, path in files.items():
        if path is None:
            continue
        if not path.parent.is_dir() or path.is_dir():
            raise RecipeError(f"{option} must name a file in a folder that is there, got {path}")
        require_unlisted(path)


def write_tables(tables: Sequence[Table], files: Mapping[str, Path | None]) -> None:
    """Write tables to the files of `--csv` and `--latex`, where they are given."""
    for option, path in files.items():
        if path is not None:
            with disk_errors(path):
                replace_file(path, _RENDER[option](tables).encode())


def _value(column: Column, row: Row) -> object:
    value = row[column.name]
    if value is None or isinstance(value, int | float):
        return value
    return guard_cell(column.cell(row))


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"
