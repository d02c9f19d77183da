"""Two benchmarks of a model, row by row: what changed between them, and what cannot be compared."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from sumpool.bench.measures.ranks import Ratio, compare
from sumpool.bench.measures.rates import RateRow
from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.rows import MODEL, ModelRow
from sumpool.bench.results.result import BenchReport
from sumpool.bench.results.table import MISSING, Table, significant

_IN_ROWS = {"bench.lengths", "bench.works", "bench.repeats", "bench.seconds"}
"""Settings whose change shows in the rows."""
_LISTED = 8
"""Differences that are named one by one."""


@dataclass(frozen=True)
class Change:
    """One row that both have, or one thing that the machine itself did.

    Attributes:
        what: The work, or the rate of the machine.
        model: The system; empty for the machine.
        length: Source tokens; None for the machine, of which all lengths count together.
        before: Median seconds of a repetition.
        now: Median seconds of a repetition.
        ratio: Now over before.
        memory: Peak bytes before and now; None where not known of both.
        operations: Counted before and now; None where not known of both.
    """

    what: str
    model: str
    length: int | None
    before: float
    now: float
    ratio: Ratio
    memory: tuple[int, int] | None = None
    operations: tuple[int, int] | None = None


@dataclass(frozen=True)
class Comparison:
    """Everything that changed.

    Attributes:
        differences: What else is different: machine, versions, settings.
        changes: The machine itself, then every row that was measured both times.
        gone: Rows that were measured before and are not now.
        new: Rows that are measured now and were not before.
    """

    differences: tuple[str, ...]
    changes: tuple[Change, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]

    def to_json(self) -> str:
        """Write everything as one JSON object."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    def tables(self) -> Iterator[Table]:
        """One table."""
        columns = ("", "model", "tokens", "before s", "now s", "now / before", "95 %", "", "peak MiB", "Gop")
        cells = tuple(_cells(change) for change in self.changes)
        notes = [f"different: {difference}" for difference in self.differences[:_LISTED]]
        if len(self.differences) > _LISTED:
            notes.append(f"different: {len(self.differences) - _LISTED} more")
        notes += [f"gone: {row}" for row in self.gone] + [f"new: {row}" for row in self.new]
        notes.append(
            "now / before: above 1 is slower; 95 %: where the true ratio lies, by the ranks of the repetitions; with "
            "nothing changed one row in twenty would still seem so"
        )
        if any(not change.model and change.ratio.changed for change in self.changes):
            notes.append("the machine itself changed: no row can tell a change below its own")
        yield Table("what changed", columns, cells, tuple(notes))


def compare_reports(before: BenchReport, now: BenchReport) -> Comparison:
    """Compare two benchmarks of a model."""
    assert isinstance(before.found, FoundModels)
    assert isinstance(now.found, FoundModels)
    old, new = _measured(before.found), _measured(now.found)
    changes = [*_machine(before.found, now.found)]
    changes += [_change(old[key], new[key]) for key in new if key in old]
    return Comparison(
        tuple(_differences(before, now)),
        tuple(changes),
        tuple(_name(old[key]) for key in old if key not in new),
        tuple(_name(new[key]) for key in new if key not in old),
    )


def _measured(found: FoundModels) -> dict[tuple[str, str, int], ModelRow]:
    return {(row.work, row.model, row.length): row for row in found.models if row.timing}


def _change(old: ModelRow, new: ModelRow) -> Change:
    assert old.timing
    assert new.timing
    return Change(
        new.work,
        new.model,
        new.length,
        old.timing.median,
        new.timing.median,
        compare(old.timing.seconds, new.timing.seconds),
        None if old.memory is None or new.memory is None else (old.memory, new.memory),
        None if old.operations is None or new.operations is None else (old.operations, new.operations),
    )


def _machine(before: FoundModels, now: FoundModels) -> Iterator[Change]:
    """What the machine itself did, where it was asked for as much."""
    for rate in dict.fromkeys(row.rate for row in now.rates):
        old, new = ([row for row in found.rates if row.rate == rate] for found in (before, now))
        if old and new and {row.amount for row in old} == {row.amount for row in new}:
            earlier, later = _all_lengths(old), _all_lengths(new)
            yield Change(rate, "", None, earlier.median, later.median, compare(earlier.seconds, later.seconds))


def _all_lengths(rows: list[RateRow]) -> Timing:
    return Timing(tuple(seconds for row in rows for seconds in row.timing.seconds))


def _differences(before: BenchReport, now: BenchReport) -> Iterator[str]:
    """Name everything but the rows that is not the same; what only one of them knows is no difference."""
    old, new = _surroundings(before), _surroundings(now)
    for name in old:
        if name in new and name not in _IN_ROWS and old[name] != new[name]:
            yield f"{name} was {old[name]}, is {new[name]}"


def _surroundings(report: BenchReport) -> dict[str, object]:
    """Everything that figures depend on, by path."""
    whole = json.loads(report.to_json())
    settings = {name: whole["settings"][name] for name in ("bench", "model", "vocabulary")}
    precisions = {
        row["work"]: row["precision"] for row in whole["models"] if row["model"] == MODEL and row["precision"]
    }
    machine = {"machine": whole["machine"], "device": whole["device"]}
    return _flatten(machine | {"versions": whole["versions"], "precision": precisions} | settings)


def _flatten(tree: object, path: str = "") -> dict[str, object]:
    match tree:
        case dict():
            inner = [(f"{path}.{name}" if path else name, value) for name, value in tree.items()]
        case list() if any(isinstance(value, dict) for value in tree):
            inner = [(f"{path}[{place}]", value) for place, value in enumerate(tree)]
        case _:
            return {path: tree}
    return {name: value for place, branch in inner for name, value in _flatten(branch, place).items()}


def _name(row: ModelRow) -> str:
    return f"{row.work} {row.model} at {row.length:,} tokens"


def _cells(change: Change) -> tuple[str, ...]:
    ratio = change.ratio
    between, verdict = MISSING, "too few repetitions"
    if ratio.interval:
        between = "{:.2f} to {:.2f}".format(*ratio.interval)
        verdict = ("slower" if ratio.middle > 1 else "faster") if ratio.changed else "no change"
    return (
        change.what,
        change.model,
        MISSING if change.length is None else f"{change.length:,}",
        significant(change.before),
        significant(change.now),
        f"{ratio.middle:.2f}",
        between,
        verdict,
        _from_to(change.memory, 2**20),
        _from_to(change.operations, 10**9),
    )


def _from_to(values: tuple[int, int] | None, unit: int) -> str:
    """Write a number that stayed, or both."""
    if values is None:
        return MISSING
    old, new = (significant(value / unit) for value in values)
    return old if old == new else f"{old} to {new}"
