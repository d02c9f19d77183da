"""Benchmarks of a model that `--out` wrote, read back, and compared row by row."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from sumpool.bench.measures import Timing, compare
from sumpool.bench.models import MODEL, model_result
from sumpool.bench.results import BenchReport, Machine, Row, Table, make_table, pooled, unique, where
from sumpool.errors import DataError, RecipeError
from sumpool.io.bounded import parse_json, read_regular
from sumpool.settings import first_problem

LARGEST = 2**26
"""Bytes of a file; real ones have a thousandth of it."""
Second = Annotated[float, Field(gt=0, lt=math.inf)]
_IN_ROWS = {"bench.lengths", "bench.workloads", "bench.repeats", "bench.seconds"}
"""Settings whose change shows in the rows."""
_LISTED = 8
"""Differences that are printed one by one."""


class _Open(BaseModel, extra="allow"):
    """Object of a file, with whatever other values it has."""


class _Row(_Open):
    length: int
    seconds: Annotated[tuple[Second, ...], Field(min_length=1)] | None = None
    note: str = ""

    def row(self) -> Row:
        """The row as it was before it was written."""
        values = self.model_dump(exclude={"seconds", "note"})
        return Row(values, Timing(self.seconds) if self.seconds else None, self.note)


class _ModelRow(_Row):
    workload: str
    model: str
    batch: int


class _SpeedRow(_Row):
    rate: str
    amount: int


class _Bench(_Open):
    generate: int
    beams: int


class _Saved(_Open):
    """Beginning of every file that `--out` writes."""

    schema_: Annotated[int, Field(alias="schema")]
    suite: str
    machine: Machine
    versions: dict[str, str]


class _SavedSettings(_Open):
    bench: _Bench
    model: dict[str, Any]
    vocabulary: int


class _SavedReport(BaseModel):
    """File as `BenchReport.to_json` lays it out."""

    schema_: Annotated[Literal[3], Field(alias="schema")]
    recipe: str
    suite: Literal["model"]
    machine: Machine
    versions: dict[str, str]
    device: str
    precision: str
    settings: _SavedSettings
    models: tuple[_ModelRow, ...]
    machine_speed: tuple[_SpeedRow, ...]


def require_benchmark(path: Path) -> None:
    """Check that a file is new, a benchmark, or no regular file, such as /dev/stdout.

    Raises:
        RecipeError: If it is a folder or holds anything else.
    """
    if path.is_dir():
        raise RecipeError(f"{path} must be a file to write, got a folder: name a file in it with --out")
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            _Saved.model_validate_json(file.read(LARGEST))
    except (OSError, ValidationError) as error:
        raise RecipeError(
            f"{path} must be new or a benchmark that --out wrote, got another file: name another with --out"
        ) from error


def load_saved(path: Path) -> BenchReport:
    """Read a benchmark of a model.

    Raises:
        DataError: If the file is missing, damaged, of another suite or of another version.
    """
    try:
        content = read_regular(path, LARGEST)
    except OSError as error:
        raise DataError(f"{path} must be a benchmark that --out wrote, got: {error.strerror}") from error
    try:
        saved = _SavedReport.model_validate_json(content)
    except ValidationError as error:
        problem = first_problem(error)
        raise DataError(f"{path} must be a benchmark of a model that --out wrote, but {problem}") from error
    bench = saved.settings.bench
    result = model_result(
        [row.row() for row in saved.models], [row.row() for row in saved.machine_speed], bench.generate, bench.beams
    )
    about = (saved.recipe, saved.suite, saved.machine, saved.versions, saved.device, saved.precision)
    return BenchReport(*about, saved.settings.model_dump(), result)


@dataclass(frozen=True)
class RunComparison:
    """Differences of machine, versions and settings; changes of the machine and of every row measured both times.

    `gone` are rows that were measured before and are not now, `new` those that are measured now and were not before.
    """

    differences: tuple[str, ...]
    changes: tuple[Row, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]

    def to_json(self) -> str:
        """Everything as one JSON object."""
        return json.dumps(
            asdict(self) | {"changes": [row.values for row in self.changes]}, indent=2, ensure_ascii=False
        )

    def tables(self) -> Iterator[Table]:
        """One table."""
        listed = [*self.differences[:_LISTED]]
        if len(self.differences) > _LISTED:
            listed.append(f"{len(self.differences) - _LISTED} more")
        notes = [f"different: {difference}" for difference in listed]
        notes += [f"gone: {row}" for row in self.gone] + [f"new: {row}" for row in self.new]
        notes.append(
            "now / before: above 1 is slower; 95 %: confidence interval by the ranks of the repetitions; with nothing "
            "changed one row in twenty would still seem so"
        )
        if any(not row["model"] and row["verdict"] in ("slower", "faster") for row in self.changes):
            notes.append("the machine itself changed: no row can tell a change below its own")
        yield make_table("changes", self.changes, notes=notes)


def compare_reports(before: BenchReport, now: BenchReport) -> RunComparison:
    """Compare two benchmarks of a model."""
    old, new = _measured(before), _measured(now)
    changes = [*_machine(before, now), *(_change(old[key], new[key]) for key in new if key in old)]
    return RunComparison(
        tuple(_differences(before, now)),
        tuple(changes),
        tuple(_name(row) for key, row in old.items() if key not in new),
        tuple(_name(row) for key, row in new.items() if key not in old),
    )


def _measured(report: BenchReport) -> dict[tuple[str, str, int], Row]:
    rows = report.result.rows["models"]
    return {(row["workload"], row["model"], row["length"]): row for row in rows if row.timing}


def _change(old: Row, new: Row) -> Row:
    assert old.timing
    assert new.timing
    ratio = compare(old.timing.seconds, new.timing.seconds)
    verdict = ("slower" if ratio.estimate > 1 else "faster") if ratio.changed else "no change"
    costs = {name: (old[name], new[name]) for name in ("memory", "operations")}
    return Row(
        {
            "what": new["workload"] or new["rate"],
            "model": new["model"] or "",
            "length": new["length"],
            "before": old["median"],
            "now": new["median"],
            "ratio": ratio.estimate,
            "interval": "{:.2f} to {:.2f}".format(*ratio.interval) if ratio.interval else None,
            "verdict": verdict if ratio.interval else "too few repetitions",
            **{name: None if None in both else both for name, both in costs.items()},
        }
    )


def _machine(before: BenchReport, now: BenchReport) -> Iterator[Row]:
    """Changes of the machine itself, where both asked it for as much."""
    old, new = (report.result.rows["machine_speed"] for report in (before, now))
    for rate in unique(new, "rate"):
        pair = [where(rows, {"rate": rate}) for rows in (old, new)]
        if all(pair) and unique(pair[0], "amount") == unique(pair[1], "amount"):
            earlier, later = (Row({"rate": rate}, pooled(rows)) for rows in pair)
            yield _change(earlier, later)


def _differences(before: BenchReport, now: BenchReport) -> Iterator[str]:
    """Everything but the rows that is not the same; what only one of them has is no difference."""
    old, new = _conditions(before), _conditions(now)
    for name in old:
        if name in new and name not in _IN_ROWS and old[name] != new[name]:
            yield f"{name} was {old[name]}, is {new[name]}"


def _conditions(report: BenchReport) -> dict[str, object]:
    """Everything that the figures depend on, by path."""
    whole = parse_json(report.to_json())
    rows = [row for row in report.result.rows["models"] if row["model"] == MODEL and row["precision"]]
    return _flatten(
        {name: whole[name] for name in ("machine", "device", "versions")}
        | {"precision": {row["workload"]: row["precision"] for row in rows}}
        | {name: whole["settings"][name] for name in ("bench", "model", "vocabulary")}
    )


def _flatten(tree: object, path: str = "") -> dict[str, object]:
    match tree:
        case dict():
            inner = [(f"{path}.{name}" if path else name, value) for name, value in tree.items()]
        case list() if any(isinstance(value, dict) for value in tree):
            inner = [(f"{path}[{index}]", value) for index, value in enumerate(tree)]
        case _:
            return {path: tree}
    return {name: value for index, branch in inner for name, value in _flatten(branch, index).items()}


def _name(row: Row) -> str:
    return f"{row['workload']} {row['model']} at {row['length']:,} tokens"
