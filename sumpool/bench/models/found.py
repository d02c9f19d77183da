"""A model beside its twins and peers: everything that was measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from sumpool.bench.measures.rates import RateRow
from sumpool.bench.models.rows import GrowthRow, ModelRow, StepRow
from sumpool.bench.models.tables import growth_table, rates_table, steps_table, systems_table, work_table
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import Table

_TITLES = {
    "encode": "reading documents",
    "train": "training step, forward and backward",
    "generate": "reading documents and writing {generate} tokens about each with {beams} beams",
}


@final
@dataclass(frozen=True)
class FoundModels(Found):
    """A model beside its twins and peers.

    Attributes:
        models: Rows by work, then length, then system.
        growth: How each cost grows.
        generate: Tokens that every generation wrote.
        beams: Hypotheses of the generation.
        steps: Rows by length, then system.
        rates: What the machine did in the same turns.
        seconds: What the whole benchmark took.
    """

    models: tuple[ModelRow, ...]
    growth: tuple[GrowthRow, ...]
    generate: int
    beams: int
    steps: tuple[StepRow, ...] = ()
    rates: tuple[RateRow, ...] = ()
    seconds: float = 0.0

    def tables(self) -> Iterator[Table]:
        """The machine's rates, the systems, one table per work, one of steps, one of growth."""
        if self.rates:
            yield rates_table(self.rates)
        if any(row.layout for row in self.models):
            yield systems_table(self.models)
        for work, title in _TITLES.items():
            rows = [row for row in self.models if row.work == work]
            if rows:
                sizes = title.format(generate=self.generate, beams=self.beams)
                yield work_table(f"{sizes}, batch {rows[0].batch}", rows)
        if self.steps:
            yield steps_table(self.steps)
        if self.growth:
            yield growth_table(self.growth)
