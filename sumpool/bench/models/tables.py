"""Tables of a model beside its twins and peers."""

from collections.abc import Sequence
from itertools import groupby

from sumpool.bench.measures.rates import RateRow
from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.rows import MODEL, GrowthRow, ModelRow, StepRow
from sumpool.bench.results.table import MISSING, Table, number, percent, significant

NOISY = 1.5
"""Slowest over fastest repetition above which a figure is marked."""
_DOUBT = f"?: slowest over fastest above {NOISY}; measure again on a quiet machine"
_TIMES = f"x {MODEL}: how many times as long as the {MODEL}"


def rates_table(rows: Sequence[RateRow]) -> Table:
    """What the machine did, medians of all lengths."""
    cells = []
    for rate in dict.fromkeys(row.rate for row in rows):
        own = [row for row in rows if row.rate == rate]
        timing = Timing(tuple(seconds for row in own for seconds in row.timing.seconds))
        unit = "Gop/s" if rate.endswith("products") else "GB/s"
        cells.append((rate, f"{significant(own[0].amount / timing.median / 1e9)} {unit}", _spread(timing.spread)))
    note = "measured in the same turns as the rows below, whose shares are those of the same minutes"
    return Table("what the machine itself does", ("", "a second", "spread"), tuple(cells), (note,))


def systems_table(rows: Sequence[ModelRow]) -> Table:
    """The models, and how many vectors leave their layers at the longest length that they were measured at."""
    found: dict[str, ModelRow] = {}
    for row in rows:
        if row.layout and (row.model not in found or row.length > found[row.model].length):
            found[row.model] = row
    cells = tuple(
        (name, _mebi(row.weights), row.precision, f"{row.length:,}", _layout(row.layout)) for name, row in found.items()
    )
    return Table("models", ("", "weights MiB", "precision", "tokens", "vectors leaving each layer"), cells)


def work_table(title: str, rows: Sequence[ModelRow]) -> Table:
    """One work, by length and system."""
    shared = any(row.share is not None for row in rows)
    measured = ("tokens", "model", "seconds", "spread", "documents/s", "tokens/s", "peak MiB", "/ weights")
    columns = (*measured, *(("matrix rate",) if shared else ()), f"x {MODEL}")
    base = {row.length: row.timing for row in rows if row.model == MODEL}
    cells = tuple(_cells(row, row.timing, base.get(row.length), shared=shared) for row in rows if row.timing)
    notes = _left_out(rows)
    runs = sorted({len(row.timing.seconds) for row in rows if row.timing})
    if runs:
        medians = f"medians of {runs[0]}{f' to {runs[-1]}' if len(runs) > 1 else ''} repetitions"
        notes.append(f"{medians if runs[-1] > 1 else 'single repetitions'}; {_TIMES}")
    if shared:
        notes.append("matrix rate: operations a second over those of a large product in the same precision")
    if any(cell.endswith("?") for row_cells in cells for cell in row_cells):
        notes.append(_DOUBT)
    return Table(title, columns, cells, tuple(notes))


def steps_table(rows: Sequence[StepRow]) -> Table:
    """Steps of the search."""
    base = {row.length: row for row in rows if row.model == MODEL}
    cells = []
    for row in rows:
        model = base.get(row.length)
        times = MISSING
        if model:
            doubt = "?" if row is not model and max(row.spread, model.spread) > NOISY else ""
            times = f"{_ratio(row.seconds / model.seconds)}{doubt}"
        cells.append(
            (
                f"{row.length:,}",
                row.model,
                significant(1000 * row.seconds),
                _spread(row.spread),
                _mebi(row.bytes),
                percent(row.share),
                times,
            )
        )
    columns = ("tokens", "model", "ms a step", "spread", "reads MiB", "memory speed", f"x {MODEL}")
    notes = [
        f"generation less encoding, per token; {_TIMES}",
        "memory speed: what a step must read once, weights and keys and values, a second, over the machine's",
    ]
    if any(cell.endswith("?") for row_cells in cells for cell in row_cells):
        notes.append(_DOUBT)
    return Table(f"one step of the search, batch {rows[0].batch}", columns, tuple(cells), tuple(notes))


def growth_table(rows: Sequence[GrowthRow]) -> Table:
    """Exponents of what grows."""
    costs = ("seconds", "bytes", "operations")
    found: dict[tuple[str, str], dict[str, GrowthRow]] = {}
    for row in rows:
        found.setdefault((row.work, row.model), {})[row.cost] = row
    cells = tuple(
        (work, model, _range(own), *(number(own[cost].growth.exponent if cost in own else None, 2) for cost in costs))
        for (work, model), own in found.items()
    )
    note = "exponents: 1 is linear, 2 quadratic; what does not grow with the document lowers them"
    return Table("growth with the length of the document", ("", "model", "tokens", *costs), cells, (note,))


def _cells(row: ModelRow, timing: Timing, base: Timing | None, *, shared: bool) -> tuple[str, ...]:
    compared = MISSING
    if base:
        doubt = "?" if row.model != MODEL and max(timing.spread, base.spread) > NOISY else ""
        compared = f"{_ratio(timing.median / base.median)}{doubt}"
    each = row.batch / timing.median
    over = _ratio(row.memory / row.weights) if row.memory is not None and row.weights else MISSING
    return (
        f"{row.length:,}",
        row.model,
        significant(timing.median),
        _spread(timing.spread),
        significant(each),
        significant(each * row.length),
        _mebi(row.memory),
        over,
        *((percent(row.share),) if shared else ()),
        compared,
    )


def _left_out(rows: Sequence[ModelRow]) -> list[str]:
    """Say of every system which lengths are missing and why; where longer ones are too, the shortest says enough."""
    sentences = []
    for model in dict.fromkeys(row.model for row in rows if row.note):
        own = [row for row in rows if row.model == model]
        missing = [row for row in own if row.note]
        if len(missing) == len(own):
            where = ""
        elif len(missing) > 1 and missing == own[-len(missing) :]:
            where = f" from {missing[0].length:,} tokens on"
        else:
            where = f" at {', '.join(f'{row.length:,}' for row in missing)} tokens"
        sentences.append(f"{model} was left out{where}: {missing[0].note}")
    return sentences


def _ratio(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"


def _spread(spread: float) -> str:
    return f"{spread:.2f}{'?' if spread > NOISY else ''}"


def _mebi(size: int | None) -> str:
    return number(None if size is None else size / 2**20, 0)


def _layout(lengths: Sequence[int]) -> str:
    """Write lengths with equal neighbours together: 2 x 8,192, 2,048, 3 x 512."""
    runs = [(length, len(list(same))) for length, same in groupby(lengths)]
    return ", ".join(f"{times} x {length:,}" if times > 1 else f"{length:,}" for length, times in runs)


def _range(rows: dict[str, GrowthRow]) -> str:
    lengths = next(iter(rows.values())).lengths
    return f"{lengths[0]:,} to {lengths[-1]:,}"
