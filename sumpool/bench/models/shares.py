"""What follows from the rows of a model: shares of what the machine can do, steps of the search, growth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sumpool.bench.measures.growth import fit
from sumpool.bench.measures.rates import PRECISIONS, PRODUCTS, Rate, RateRow
from sumpool.bench.models.rows import GrowthRow, ModelRow, StepRow


def share_rates(rows: Sequence[ModelRow], rates: Sequence[RateRow]) -> tuple[ModelRow, ...]:
    """Hold the operations of every row against the large product of its precision, in the same turns."""
    found = []
    for row in rows:
        precision = next((each for each in PRECISIONS if each == row.precision), None)
        speed = _speed(rates, row.length, PRODUCTS[precision]) if precision else None
        if row.timing and row.operations and speed:
            row = replace(row, share=row.operations / row.timing.median / speed)
        found.append(row)
    return tuple(found)


def step_rows(
    rows: Sequence[ModelRow], rates: Sequence[RateRow], reads: Mapping[tuple[str, int], int], tokens: int
) -> tuple[StepRow, ...]:
    """Take encoding from generation, where both were measured.

    Args:
        rows: Rows of all works.
        rates: What the machine did.
        reads: Bytes that a step must read, by model and length.
        tokens: That every generation wrote.
    """
    encoded = {(row.model, row.length): row.timing for row in rows if row.work == "encode"}
    found = []
    for row in rows:
        reading = encoded.get((row.model, row.length))
        if row.work != "generate" or not row.timing or not reading or row.timing.median <= reading.median:
            continue
        seconds = (row.timing.median - reading.median) / tokens
        needed = reads.get((row.model, row.length))
        speed = _speed(rates, row.length, "memory read", "memory copied")
        found.append(
            StepRow(
                row.model,
                row.length,
                row.batch,
                seconds,
                max(row.timing.spread, reading.spread),
                needed,
                needed / seconds / speed if needed and speed else None,
            )
        )
    return tuple(found)


def fit_growth(rows: Sequence[ModelRow]) -> tuple[GrowthRow, ...]:
    """Fit how seconds, bytes and operations of each work grow, for each model measured at three lengths or more."""
    found = []
    for work, model in dict.fromkeys((row.work, row.model) for row in rows):
        own = [row for row in rows if (row.work, row.model) == (work, model)]
        costs: dict[str, list[tuple[int, float]]] = {
            "seconds": [(row.length, row.timing.median) for row in own if row.timing],
            "bytes": [(row.length, row.memory) for row in own if row.memory is not None],
            "operations": [(row.length, row.operations) for row in own if row.operations is not None],
        }
        for cost, points in costs.items():
            lengths = tuple(length for length, _ in points)
            growth = fit(lengths, [value for _, value in points])
            if growth:
                found.append(GrowthRow(work, model, cost, lengths, growth))
    return tuple(found)


def _speed(rates: Sequence[RateRow], length: int, *wanted: Rate) -> float | None:
    """The fastest of some rates, a second, while a length was measured; None if none of them was."""
    return max((row.speed for row in rates if row.length == length and row.rate in wanted), default=None)
