"""Tables of selected sentences, and the lengths from which selecting pays."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sumpool.bench.config import SelectionBenchConfig
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Column, Row, Table, make_table, quotient, unique, where

FULL = "full"
APPROXIMATE, GRU = "approximate", "approximate, gru"


def selection_result(
    steps: list[Row], reused: list[Row], generations: list[Row], settings: SelectionBenchConfig
) -> Result:
    """Tables of steps, reused selections and generations."""
    for rows in (steps, generations):
        rows[:] = [row.also({"speedup": quotient(_time(_full(rows, row)), _time(row))}) for row in rows]
    sizes = settings.model_dump()
    base = {row["length"]: row["median"] for row in where(reused, {"reselect_every": 1})}
    reused = [row.also({"ratio": quotient(row["median"], base[row["length"]])}) for row in reused]
    similar, independent = (where(steps, {"independent": value}) for value in (False, True))
    faster = [
        f"{count} sentences {_break_even(similar, {'selection': APPROXIMATE, 'sentences': count})}"
        for count in settings.sentences
    ]
    whole = [
        f"{name} {_break_even(generations, {'selection': name})}"
        for name in unique(generations, "selection")
        if name != FULL
    ]
    tables = [
        _step_table(similar, sizes, "similar", [f"a step of {APPROXIMATE} is faster than full: {'; '.join(faster)}"]),
        _step_table(independent, sizes, "independent", []),
        make_table("reused", reused, sizes),
        make_table("generations", generations, sizes, notes=[f"all of it is faster than full: {'; '.join(whole)}"]),
    ]
    return Result({"steps": steps, "reused": reused, "generations": generations}, tables)


def break_even(lengths: Sequence[int], full: Sequence[float], selected: Sequence[float]) -> float | None:
    """Find the length from which on selecting is faster, by linear interpolation between those measured.

    Returns:
        The first length where it is faster at all of them; None where it is not at the last.
    """
    saved = [full_time - time for full_time, time in zip(full, selected, strict=True)]
    if saved[-1] <= 0:
        return None
    for (shorter, lost), (longer, won) in reversed(list(pairwise(zip(lengths, saved, strict=True)))):
        if lost <= 0:
            return shorter + (longer - shorter) * lost / (lost - won)
    return float(lengths[0])


def _time(row: Row) -> float:
    return float(row["median"] if row.timing else row["total"])


def _full(rows: Sequence[Row], row: Row) -> Row:
    """The row of full cross-attention at the same length and with the same hypotheses."""
    (full,) = where(rows, {"length": row["length"], "selection": FULL, "independent": row["independent"]})
    return full


def _step_table(steps: list[Row], sizes: Mapping[str, Any], kind: str, notes: Sequence[str]) -> Table:
    """Steps of the approximate selection, and how many times faster than full every selection is."""
    names = [name for name in unique(steps, "selection") if name != FULL]
    lines = []
    for row in where(steps, {"selection": APPROXIMATE}):
        full = _full(steps, row)
        same = where(steps, {"length": row["length"], "sentences": row["sentences"]})
        speedups = {f"{other['selection']} speedup": other["speedup"] for other in same}
        lines.append(row.also({"full_bytes": full["bytes"], "full_seconds": full["median"], **speedups}))
    columns = [Column(name, f"{name} speedup", ",.1f") for name in names]
    return make_table("selection_steps", lines, {**sizes, "kind": kind}, columns=columns, notes=notes)


def _break_even(rows: list[Row], labels: dict[str, object]) -> str:
    """Say from which length on the rows of these labels are faster than full cross-attention."""
    selected = where(rows, labels)
    lengths = [row["length"] for row in selected]
    length = break_even(lengths, [_time(_full(rows, row)) for row in selected], [_time(row) for row in selected])
    if length is None:
        return f"nowhere up to {lengths[-1]:,} tokens"
    return f"at every length from {lengths[0]:,}" if length == lengths[0] else f"from about {length:,.0f} tokens"
