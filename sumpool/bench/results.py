"""Rows of measurements, tables as columns over them, and the report: machine, versions and settings around them.

A benchmark measures rows of plain, unrounded values. `tables.toml` says for each table which values are printed, and
how; tables are also written as CSV for spreadsheets and as LaTeX for papers.
"""

import csv
import io
import json
import math
import os
import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from sumpool import __version__
from sumpool.bench.measures import Timing
from sumpool.errors import RecipeError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import parse_json, read_regular
from sumpool.text.cleaning import escape_latex, guard_cell
from sumpool.training.hardware import physical

MISSING = "-"
"""Printed for a value that is not known."""
NOISY = 1.5
"""Slowest over fastest repetition above which a figure is marked."""

_UNITS = {"ms": 1e3, "us": 1e6, "MiB": 2**-20, "M": 1e-6, "G": 1e-9}
_CPUINFO = Path("/proc/cpuinfo")
SCHEMA = 3
"""Version of the JSON files."""
UNFINISHED = "a benchmark that is not finished keeps nothing"
"""Said after a signal."""


@dataclass(frozen=True)
class Row:
    """One measurement, or one line of a table.

    `values` are labels and results, unrounded: source tokens as `length`, bytes as `memory` ... `timing` are the
    repetitions, None where nothing was timed; and `note` is why something is missing, empty where nothing is.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    timing: Timing | None = None
    note: str = ""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - whatever was measured
        """Value of a name, None where there is none; `median`, `fastest` and `spread` are those of the timing."""
        if self.timing and name in ("median", "fastest", "spread"):
            return getattr(self.timing, name)
        return self.values.get(name)

    def also(self, values: Mapping[str, Any]) -> "Row":
        """Copy of the row with more values."""
        return replace(self, values={**self.values, **values})

    def to_json(self) -> dict[str, Any]:
        """The values, `seconds` of the repetitions, and `note`, as one object."""
        timed = {"seconds": self.timing.seconds} if self.timing else {}
        return {**self.values, **timed, **({"note": self.note} if self.note else {})}


@dataclass(frozen=True)
class Column:
    """One column: its heading, the value that it prints, a style and a unit; see `tables.toml`."""

    heading: str
    name: str
    style: str = ""
    unit: str = ""

    def cell(self, row: Row) -> str:
        """Text of one row in this column."""
        value = row[self.name]
        if value is None:
            return MISSING
        if self.unit:
            scale = _UNITS[self.unit]
            value = [part * scale for part in value] if isinstance(value, list | tuple) else value * scale
        return _STYLES[self.style](value) if self.style in _STYLES else format(value, self.style)


@dataclass(frozen=True)
class Table:
    """A table to print: a line above it, columns, of which the first `keys` name a row, rows, and lines below it."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    keys: int = 1

    def headings(self) -> list[str]:
        """Headings of the columns."""
        return [column.heading for column in self.columns]

    def cells(self) -> list[tuple[str, ...]]:
        """Texts of the rows."""
        return [tuple(column.cell(row) for column in self.columns) for row in self.rows]


def make_table(
    name: str,
    rows: Sequence[Row],
    facts: Mapping[str, Any] | None = None,
    *,
    columns: Sequence[Column] = (),
    notes: Sequence[str] = (),
    package: str = __package__,
) -> Table:
    """Make a table of the `tables.toml` of a package.

    Args:
        name: Its name there.
        rows: The rows.
        facts: Values of the names in braces.
        columns: Columns that depend on what was measured.
        notes: Further lines below the table.
        package: The package.
    """
    specification, known = _tables(package)[name], facts or {}
    optional = specification.get("optional", ())
    chosen: list[Column] = []
    for heading, *rest in specification["columns"]:
        if heading == "*":
            chosen += columns
        elif rest[0] not in optional or any(row[rest[0]] is not None for row in rows):
            chosen.append(Column(heading.format(**known), *rest))
    fixed = (note.format(**known) for note in specification.get("notes", ()))
    keys = specification.get("keys", 1)
    return Table(specification["title"].format(**known), chosen, rows, [*fixed, *notes], keys)


@cache
def _tables(package: str) -> dict[str, Any]:
    return tomllib.loads(files(package).joinpath("tables.toml").read_text(encoding="utf-8"))


def text_table(title: str, headings: Sequence[str], lines: Iterable[Sequence[str]]) -> Table:
    """Table of texts that are already written."""
    rows = [Row({str(index): text for index, text in enumerate(line)}) for line in lines]
    return Table(title, [Column(heading, str(index)) for index, heading in enumerate(headings)], rows)


def where(rows: Iterable[Row], labels: Mapping[str, Any]) -> list[Row]:
    """Rows that have all these values."""
    return [row for row in rows if all(row[name] == value for name, value in labels.items())]


def unique(rows: Iterable[Row], name: str) -> list[Any]:
    """Values of a name, each once, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def quotient(value: float | None, base: float | None) -> float | None:
    """Value over base; None where one of them is missing or the base is 0."""
    return value / base if value is not None and base else None


def significant(value: float, digits: int = 3) -> str:
    """Write a number with significant digits, and no digit of a whole number left out: 0.0123, 4.56, 12,345."""
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(decimals, 0)}f}"


def _short(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"


def _runs(lengths: Sequence[int]) -> str:
    """Write lengths with equal neighbours together: 2 x 8,192, 2,048, 3 x 512."""
    runs = ((length, len(list(same))) for length, same in groupby(lengths))
    return ", ".join(f"{times} x {length:,}" if times > 1 else f"{length:,}" for length, times in runs)


_STYLES: Mapping[str, Callable[[Any], str]] = {
    "significant": significant,
    "short": _short,
    "percent": lambda share: f"{100 * share:.0f} %",
    "tenths": lambda share: f"{100 * share:.1f} %",
    "spread": lambda value: f"{value:.2f}{'?' if value > NOISY else ''}",
    "marked": lambda value: _short(value[0]) + "?" * value[1],
    "runs": _runs,
}


def to_csv(tables: Sequence[Table]) -> str:
    """Render tables as CSV, each below a line with its title, an empty line between them; numbers are unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for number, table in enumerate(tables):
        writer.writerows([[]] * (number > 0))
        writer.writerows([[guard_cell(table.title)], [guard_cell(heading) for heading in table.headings()]])
        for row in table.rows:
            writer.writerow(
                value if value is None or isinstance(value, int | float) else guard_cell(column.cell(row))
                for column, value in ((column, row[column.name]) for column in table.columns)
            )
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


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"


@dataclass(frozen=True)
class Result:
    """Measurements of one suite by kind, for JSON and pictures, what is printed of them, and other results by name."""

    rows: Mapping[str, Sequence[Row]]
    tables: Sequence[Table]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchReport:
    """A whole benchmark.

    Attributes:
        recipe: Name of the recipe; empty where none was needed.
        suite: What was measured; "model" for a recipe.
        device: Type of the device.
        precision: Precision of what was measured.
        settings: The `bench` or `study` section as used, and what else the figures depend on.
        result: The measurements.
        libraries: Versions of further libraries that the figures depend on.
    """

    recipe: str
    suite: str
    device: str
    precision: str
    settings: Mapping[str, Any]
    result: Result
    libraries: Mapping[str, str] = field(default_factory=dict)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of all libraries that the figures depend on."""
        known = {"sumpool": __version__, "python": platform.python_version(), "torch": torch.__version__}
        return known | ({"cuda": torch.version.cuda} if torch.version.cuda else {}) | dict(self.libraries)

    def tables(self) -> list[Table]:
        """All tables, the machine first."""
        machine = describe_machine(self.device)
        lines = [
            ("processor", machine["processor"]),
            ("cores, threads in use", f"{machine['cores']}, {machine['threads']}"),
            ("memory", f"{machine['memory'] / 2**30:.0f} GiB"),
            ("device", machine["accelerator"] or self.device),
            ("precision", self.precision),
            *self.versions.items(),
        ]
        kind = next(kind for kind in ("bench", "study") if kind in self.settings)
        return [text_table(f"{kind} of {self.recipe or self.suite}", ("machine", ""), lines), *self.result.tables]

    def to_json(self) -> str:
        """Everything, each single repetition included, as one JSON object."""
        rows = {kind: [row.to_json() for row in rows] for kind, rows in self.result.rows.items()}
        about = {name: getattr(self, name) for name in ("recipe", "suite", "versions", "device", "precision")}
        whole = {"schema": SCHEMA, **about, "machine": describe_machine(self.device), "settings": self.settings}
        return json.dumps(whole | dict(self.result.facts) | rows, indent=2, ensure_ascii=False)


def describe_machine(device: str) -> dict[str, Any]:
    """Describe this machine for work on a type of device: hardware, bytes of memory, and how much of it is used."""
    affinity = getattr(os, "sched_getaffinity", None)
    info = _CPUINFO.read_text().splitlines() if _CPUINFO.exists() else ()
    named = (line.partition(":")[2].strip() for line in info if line.startswith("model name"))
    gpu = torch.cuda.get_device_properties(device) if device == "cuda" else None
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": next(named, platform.processor() or platform.machine()),  # the former is empty on most Linux
        "cores": len(affinity(0)) if affinity else os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "memory": physical(),
        "accelerator": gpu.name if gpu else "",
        "accelerator_memory": gpu.total_memory if gpu else 0,
    }


def write_report(report: BenchReport, files: Mapping[str, Path | None]) -> None:
    """Write a report to the file of `--out`, as JSON, and its tables to those of `--csv` and `--latex`, where given.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    for option, path in files.items():
        if path is not None:
            text = f"{report.to_json()}\n" if option == "--out" else _RENDER[option](report.result.tables)
            with disk_errors(path):
                replace_file(path, text.encode())


def require_benchmark(path: Path | None) -> None:
    """Check, before anything is measured, that `--out` names a new file, a benchmark, or no regular file.

    Raises:
        RecipeError: If its folder is not there, or it holds anything else.
    """
    if path is None:
        return
    if not path.parent.is_dir() or path.is_dir():
        raise RecipeError(f"--out must name a file in a folder that is there, got {path}")
    try:
        saved = parse_json(read_regular(path)) if path.is_file() else None
        is_benchmark = saved is None or (saved["schema"] <= SCHEMA and bool(saved["suite"]))
    except (OSError, ValueError, TypeError, KeyError):
        is_benchmark = False
    if not is_benchmark:
        raise RecipeError(
            f"{path} must be new or a benchmark that --out wrote, got another file: name another with --out"
        )
