"""What is known of a model beside its twins: rows, and their tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from sumpool.bench.growth import Growth
from sumpool.bench.result import Found
from sumpool.bench.table import MISSING, Table, number
from sumpool.bench.timing import Timing

NOISY = 1.5
"""Slowest over fastest repetition above which a comparison is marked."""
_TITLES = {
    "encode": "reading documents",
    "train": "training step, forward and backward",
    "generate": "reading documents and writing {generate} tokens about each with {beams} beams",
}


@dataclass(frozen=True)
class ModelRow:
    """One model at one work and one length.

    Attributes:
        work: "encode", "train" (forward and backward) or "generate" (encoding included).
        model: "model", or the name of its twin.
        length: Source tokens of each document.
        batch: Documents at once.
        timing: The repetitions; None where `note` says why there are none.
        memory: Peak bytes above those held before the work; None where that cannot be known.
        operations: Counted operations of one repetition.
        note: Why it was not measured; empty where it was.
    """

    work: str
    model: str
    length: int
    batch: int
    timing: Timing | None = None
    memory: int | None = None
    operations: int | None = None
    note: str = ""


@dataclass(frozen=True)
class GrowthRow:
    """How one cost of one model grows with length.

    Attributes:
        work: As in `ModelRow`.
        model: As in `ModelRow`.
        cost: "seconds", "bytes" or "operations".
        lengths: Where it was measured.
        growth: The fits.
    """

    work: str
    model: str
    cost: str
    lengths: tuple[int, ...]
    growth: Growth


@final
@dataclass(frozen=True)
class FoundModels(Found):
    """A model beside its twins.

    Attributes:
        models: Rows by work, then length, then model.
        growth: How each cost grows.
        generate: Tokens that every generation wrote.
        beams: Hypotheses of the generation.
    """

    models: tuple[ModelRow, ...]
    growth: tuple[GrowthRow, ...]
    generate: int
    beams: int

    def tables(self) -> Iterator[Table]:
        """One table per work, and one of growth."""
        for work, title in _TITLES.items():
            rows = [row for row in self.models if row.work == work]
            if rows:
                sizes = title.format(generate=self.generate, beams=self.beams)
                yield _work(f"{sizes}, batch {rows[0].batch}", rows)
        if self.growth:
            yield _growth(self.growth)


def _work(title: str, rows: list[ModelRow]) -> Table:
    columns = ("source tokens", "model", "seconds", "spread", "documents/s", "peak MiB", "Gop", "time / model")
    base = {row.length: row.timing for row in rows if row.model == "model"}
    cells = tuple(_cells(row, base.get(row.length)) for row in rows)
    notes = [f"{row.model} at {row.length:,} tokens was left out: {row.note}" for row in rows if row.note]
    if any(cell[-1].endswith("?") for cell in cells):
        notes.append(f"?: slowest over fastest above {NOISY}; measure again on a quiet machine")
    return Table(title, columns, cells, tuple(notes))


def _cells(row: ModelRow, base: Timing | None) -> tuple[str, ...]:
    memory = number(None if row.memory is None else row.memory / 2**20, 0)
    operations = number(None if row.operations is None else row.operations / 1e9, 1)
    timing = row.timing
    times = (MISSING,) * 3
    compared = MISSING
    if timing:
        times = (f"{timing.median:.3f}", f"{timing.spread:.2f}", f"{row.batch / timing.median:,.2f}")
    if timing and base:
        doubt = "?" if row.model != "model" and max(timing.spread, base.spread) > NOISY else ""
        compared = f"{timing.median / base.median:.2f}{doubt}"
    return (f"{row.length:,}", row.model, *times, memory, operations, compared)


def _growth(rows: tuple[GrowthRow, ...]) -> Table:
    cells = tuple(
        (
            row.work,
            row.model,
            row.cost,
            f"{row.lengths[0]:,} to {row.lengths[-1]:,}",
            f"{row.growth.exponent:.2f}",
            f"{row.growth.straightness:.4f}",
        )
        for row in rows
    )
    columns = ("work", "model", "cost", "source tokens", "exponent", "R2 of a line")
    note = "exponent: 1 is linear, 2 quadratic; what does not grow with the document lowers it"
    return Table("growth with the length of the document", columns, cells, (note,))
