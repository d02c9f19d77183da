"""From the shortest documents to the longest: everything that is measured of a model, its twins and its peers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import final

from sumpool.bench.config import BenchConfig, WorkName
from sumpool.bench.measures.anatomy import Anatomy, dissect
from sumpool.bench.measures.rates import Rate, RateRow, probes
from sumpool.bench.measures.timing import Timing, Work, clock
from sumpool.bench.models.budget import FEWEST, Budget, afford
from sumpool.bench.models.climb import Climb
from sumpool.bench.models.rows import MODEL, ModelRow
from sumpool.bench.results.table import significant
from sumpool.bench.systems.contender import Contender
from sumpool.bench.systems.workload import DTYPES, SIZES, WORKS, Conditions, Documents, Subject
from sumpool.interruption import Check
from sumpool.progress import Progress, Report

FIRST = 1024
"""Length that is always tried; every cost at it is small."""
STEP = 4
"""Most that the length may grow between two attempts, so that the next one can be foreseen."""
SHORT = 64
"""Tokens, at most, of the document that everything is tried on first."""
FEW = 2
"""Tokens that are written about it."""

Cell = tuple[WorkName, str]
"""A work and the name of a system."""


@final
class Ascent:
    """Everything that takes part, and what is found length by length.

    Attributes:
        rows: One of each system at each work and length that was asked for.
        rates: What the machine did.
        reads: Bytes that a step of the search must read, by model and length.
    """

    def __init__(
        self,
        contenders: Mapping[str, Contender],
        settings: BenchConfig,
        conditions: Conditions,
        budget: Budget,
        report: Report,
        check: Check,
    ) -> None:
        """Prepare; a contender of the name `MODEL` is a `Subject`."""
        self.contenders, self.settings, self.conditions, self.budget = contenders, settings, conditions, budget
        self.wanted = sorted(set(settings.lengths))
        works = [work for work in WORKS if work in settings.works]
        self.climbs: dict[Cell, Climb] = {
            (work, name): Climb(conditions.device) for work in works for name in contenders
        }
        model = contenders[MODEL]
        assert isinstance(model, Subject)
        self.probes = probes(conditions.device, [model.precision_of(work) for work in works])
        self.rows: list[ModelRow] = []
        self.rates: list[RateRow] = []
        self.reads: dict[tuple[str, int], int] = {}
        self.report, self.check = report, check
        self.done, self.total = 0, 0

    def climb(self) -> None:
        """Measure every length."""
        lengths = with_steps(self.wanted)
        self._warm_up(min(SHORT, lengths[0] // 2))
        units = {length: max(1, length // lengths[0]) for length in lengths}  # seconds grow about so
        turns = {length: 1 + self.settings.repeats * (length in self.wanted) for length in lengths}
        ends = {length: units[length] * turns[length] * len(self.climbs) for length in lengths}
        self.total = sum(ends.values())
        end = 0
        for length in lengths:
            end += ends[length]
            self._measure(length, units[length])
            self.done = end
        self.report(Progress("bench", self.total, self.total))

    def _warm_up(self, length: int) -> None:
        """Do everything on a short document first."""
        documents = Documents.random(1, length, self.settings.target, self.conditions)
        for cell, climb in self.climbs.items():
            self.check()
            climb.warm_up(self._run(cell, documents, FEW))
        for probe in self.probes.values():
            probe.work()

    def _measure(self, length: int, unit: int) -> None:
        """Attempt everything at one length, and take turns with what fits if the length was asked for."""
        documents = Documents.random(self.settings.batch, length, self.settings.target, self.conditions)
        affordable = self._affordable(length)
        tried: dict[Cell, ModelRow] = {}
        for cell, climb in sorted(self.climbs.items(), key=lambda item: item[1].foresee(length)):
            self._begin(cell, length, unit)
            row = self._row(cell, length)
            if cell in affordable:
                row = climb.attempt(self._run(cell, documents), row)
            else:
                row = replace(row, note=f"a repetition would take about {significant(climb.foresee(length), 2)} s")
            tried[cell] = row
        if length not in self.wanted:
            return
        fitting = {cell: self._run(cell, documents) for cell in self.climbs if not tried[cell].note}
        timings = self._take_turns(fitting, length, unit)
        anatomies = {name: self._dissect(name, length) for name in dict.fromkeys(name for _, name in fitting)}
        for cell in self.climbs:
            row = replace(tried[cell], timing=timings.get(cell))
            anatomy = anatomies.get(cell[1])
            if anatomy:
                counted = self.settings.batch * anatomy.operations if cell[0] == "encode" else row.operations
                row = replace(row, layout=anatomy.layout, operations=counted)
            self.rows.append(row)

    def _take_turns(self, runs: Mapping[Cell, Work], length: int, unit: int) -> dict[Cell, Timing]:
        """Measure in turns with the machine itself; what is slow is not repeated once its part of the time is spent."""
        kept = self._keep(length, runs)
        seconds: dict[Cell, list[float]] = {cell: [] for cell in runs}
        machine: dict[Rate, list[float]] = {rate: [] for rate in self.probes}
        for turn in range(self.settings.repeats):
            for rate, probe in self.probes.items():
                if not turn or self.budget.left() - kept > machine[rate][-1]:
                    self.check()
                    machine[rate].append(clock(probe.work, self.conditions.device))
            for cell, run in runs.items():
                if not turn or self.budget.left() - kept > seconds[cell][-1]:
                    self._begin(cell, length, unit)
                    seconds[cell].append(clock(run, self.conditions.device))
        self.rates += [
            RateRow(rate, length, probe.amount, Timing(tuple(machine[rate]))) for rate, probe in self.probes.items()
        ]
        return {cell: Timing(tuple(taken)) for cell, taken in seconds.items()}

    def _row(self, cell: Cell, length: int) -> ModelRow:
        work, name = cell
        row = ModelRow(work, name, length, self.settings.batch)
        subject = self.contenders[name]
        if isinstance(subject, Subject):
            row = replace(row, precision=subject.precision_of(work), weights=subject.weights(work))
        return row

    def _run(self, cell: Cell, documents: Documents, tokens: int | None = None) -> Work:
        """One repetition of a work, with fewer tokens written if that is asked for."""
        work, name = cell
        contender = self.contenders[name]
        if work == "generate":
            return partial(contender.generate, documents, self.settings.beams, tokens or self.settings.generate)
        return partial(contender.train if work == "train" else contender.encode, documents)

    def _dissect(self, name: str, length: int) -> Anatomy | None:
        """Find out what one of our models must do for a document."""
        subject = self.contenders[name]
        if not isinstance(subject, Subject):
            return None
        anatomy = dissect(subject.model, Documents.random(1, length, 1, self.conditions), self.settings.beams)
        size = DTYPES[subject.precision].itemsize
        self.reads[name, length] = (
            SIZES[subject.precision] * anatomy.weights + size * self.settings.batch * anatomy.kept
        )
        return anatomy

    def _affordable(self, length: int) -> set[Cell]:
        """What there is time for at a length, given all that is still to come."""
        left = self.budget.left()
        if length in self.wanted:
            return {cell for cell, other in afford(self._costs(length), left, _is_model) if other == length}
        once = {(cell, length): climb.foresee(length) / (1 + FEWEST) for cell, climb in self.climbs.items()}
        return {cell for cell, _ in afford(once, left, _is_model)}

    def _keep(self, length: int, runs: Collection[Cell]) -> float:
        """Seconds to be left for longer documents, so that all lengths are repeated about as often."""
        left, repeats = self.budget.left(), self.settings.repeats
        later = self._costs(length + 1)
        after = (1 + repeats) * sum(later[key] for key in afford(later, left, _is_model))
        now = repeats * sum(self.climbs[cell].foresee(length) for cell in runs)
        return left * after / (now + after) if after else 0.0

    def _costs(self, first: int) -> dict[tuple[Cell, int], float]:
        """Seconds of a repetition of everything at the lengths from this one on."""
        return {
            (cell, length): climb.foresee(length)
            for length in self.wanted
            if length >= first
            for cell, climb in self.climbs.items()
        }

    def _begin(self, cell: Cell, length: int, unit: int) -> None:
        """Say what comes next, or stop."""
        self.check()
        work, name = cell
        self.report(Progress("bench", self.done, self.total, {work: f"{length:,} tokens, {name}"}))
        self.done += unit


def _is_model(key: tuple[Cell, int]) -> bool:
    """Whether it is what all others are compared to."""
    return key[0][1] == MODEL


def with_steps(lengths: Sequence[int]) -> list[int]:
    """Fill gaps, so that no length is more than STEP times the one before, and the first is at most FIRST."""
    steps = [min(FIRST, lengths[0])]
    for length in lengths:
        while length > STEP * steps[-1]:
            steps.append(STEP * steps[-1])
        if length > steps[-1]:
            steps.append(length)
    return steps
