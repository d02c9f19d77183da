"""A model, its baselines and its peers at increasing document lengths, within a time budget.

Time and memory at the next length are predicted from the lengths before it.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, final

import torch

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.measures.machine import probes
from sumpool.bench.measures.operations import count, profile_model
from sumpool.bench.measures.timing import Timing, Work, clock
from sumpool.bench.models.tables import MODEL, model_result
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, significant
from sumpool.bench.workload import (
    DTYPES,
    SIZES,
    WORKLOADS,
    Conditions,
    Contender,
    Documents,
    Subject,
    baselines,
)
from sumpool.core.model.config import ModelConfig
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.training.hardware import Peak, available, try_peak

Name = TypeVar("Name")
HEADROOM = 0.9
"""Share of the free memory that a benchmark may plan to use."""
FEWEST = 2
"""Counted repetitions for which there must be time, beside the first one that is not counted."""
SECONDS = {"cpu": 540.0, "cuda": 100.0}
"""Time that everything may take."""
WITH_PEERS = 6
"""Factor of that time with peers."""
FIRST = 1024
"""Length that is always tried; every cost at it is small."""
STEP = 4
"""Most that the length may grow between two attempts, so that the next one can be predicted."""
SHORT, FEW = 64, 2
"""Tokens, at most, of the document of the warm-up, and tokens that are generated for it."""


@dataclass
class Budget:
    """Seconds that may be spent from now on; `now` is the current time."""

    seconds: float
    now: Callable[[], float] = time.perf_counter
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.now()

    def left(self) -> float:
        """Seconds that are left; below zero when more were spent."""
        return self._start + self.seconds - self.now()


def afford(costs: Mapping[Name, float], seconds: float, first: Callable[[Name], bool]) -> set[Name]:
    """Choose what there is time for, the cheap before the costly, so that many rows outweigh one."""
    chosen = set()
    for name in sorted(costs, key=lambda name: (not first(name), costs[name])):
        needed = (1 + FEWEST) * costs[name]
        if needed <= max(seconds, 0):
            chosen.add(name)
            seconds -= needed
    return chosen


@dataclass
class CostModel:
    """Measured costs of one system in one workload, by length, and their extrapolation to longer documents.

    `peak` runs a work on the device and returns its peak memory, `seconds` are those of a repetition, `memory` peak
    bytes, and `least` those with a tiny document, as of gradients.
    """

    peak: Peak
    device: torch.device
    seconds: dict[int, float] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    least: int = 0

    def predict(self, length: int) -> float:
        """Seconds of a repetition: as measured, or as the last two lengths grew; 0 if nothing is known."""
        if not self.seconds or length in self.seconds:
            return self.seconds.get(length, 0.0)
        *before, last = sorted(self.seconds)
        exponent = 1.0
        if before:
            grown = self.seconds[last] / max(self.seconds[before[-1]], 1e-9)
            exponent = math.log(max(grown, 1e-9)) / math.log(last / before[-1])
        growth: float = (length / last) ** min(max(exponent, 1.0), 2.0)
        return self.seconds[last] * growth

    def warm_up(self, work: Work) -> None:
        """Run twice with a short document: what libraries keep from their first call is no memory of a model."""
        with suppress(NotImplementedError, MemoryError):  # the first attempt reports either
            work()
            self.least = self.peak(work, self.device) or 0

    def attempt(self, work: Work, length: int, *, counted: bool) -> tuple[dict[str, Any], str]:
        """Run once for memory and seconds, and for operations if they are counted.

        A length whose memory may not suffice is not tried: what the longest one so far took, beyond that of the tiny
        document, grows at most with the square.

        Returns:
            `memory` and `operations`, where they are known; and why it was not measured, empty if it was.
        """
        if self.memory:
            last = max(self.memory)
            grown, free = max(0, self.memory[last] - self.least), available(self.device)
            needed = self.least + grown * (length / last) ** 2
            if needed > HEADROOM * free:
                return {}, f"may need {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
        operations: list[int] = []
        seconds: list[float] = []
        once = (lambda: operations.append(count(work))) if counted else work
        try:
            memory, note = try_peak(lambda: seconds.append(clock(once, self.device)), self.device, self.peak)
        except NotImplementedError as error:
            return {}, str(error)
        if note:
            return {}, note
        self.seconds[length] = seconds[0]
        if memory is not None:
            self.memory[length] = memory
        return {"memory": memory, "operations": operations[0] or None if operations else None}, ""


Cell = tuple[Workload, str]
"""A workload and the name of a system."""


def measure_models(
    config: ModelConfig,
    settings: BenchConfig,
    conditions: Conditions,
    peers: Mapping[str, Contender] | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> Result:
    """Measure a model, its baselines and its peers, all in the same turns.

    A length for which memory or time may not suffice is left out with a note instead of being tried.

    Args:
        config: The model.
        settings: Lengths, workloads, batch, sizes, repetitions and time.
        conditions: Vocabulary, device, precision and seed.
        peers: Other systems by name; a workload that one cannot do is left out with its reason.
        report: Receives progress, one call for each repetition.
        check: Called between repetitions; may raise to stop.
    """
    seconds = settings.seconds
    if seconds == "auto":
        seconds = SECONDS[conditions.device.type] * (WITH_PEERS if peers else 1)
    budget = Budget(seconds)
    report(Progress("bench", note=f"this takes at most about {seconds:,.0f} s; bench.seconds changes that"))
    precision = None if settings.precision == "auto" else settings.precision
    models = baselines(config, max(settings.lengths))
    chosen = [name for name in (MODEL, *settings.baselines) if name in models]
    contenders: dict[str, Contender] = {name: Subject(models[name], conditions, precision) for name in chosen}
    sweep = LengthSweep(contenders | dict(peers or {}), settings, conditions, budget, report, check)
    sweep.measure()
    rows = sorted(sweep.rows, key=lambda row: (WORKLOADS.index(row["workload"]), row["length"]))
    spent = {"total_seconds": seconds - budget.left()}
    return model_result(rows, sweep.machine, settings.generate, settings.beams, spent)


@final
class LengthSweep:
    """All systems, and their rows length by length.

    Attributes:
        rows: One of each system in each workload at each length that was asked for.
        machine: Speed of the machine at each of these lengths.
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
        """Prepare; the contender of the name `MODEL` is a `Subject`."""
        self.contenders, self.settings, self.conditions, self.budget = contenders, settings, conditions, budget
        self.report, self.check, self.device = report, check, conditions.device
        self.wanted = sorted(set(settings.lengths))
        workloads = [workload for workload in WORKLOADS if workload in settings.workloads]
        self.costs = {
            (workload, name): CostModel(contender.peak, self.device)
            for workload in workloads
            for name, contender in contenders.items()
        }
        model = contenders[MODEL]
        assert isinstance(model, Subject)
        self.probes = probes(self.device, [model.precision_of(workload) for workload in workloads])
        self.rows: list[Row] = []
        self.machine: list[Row] = []
        self.done, self.total = 0, 0

    def measure(self) -> None:
        """Measure every length, after everything has run on a short document."""
        lengths = with_steps(self.wanted)
        short = Documents.random(1, min(SHORT, lengths[0] // 2), self.settings.target, self.conditions)
        for cell, costs in self.costs.items():
            self.check()
            costs.warm_up(self._work(cell, short, FEW))
        for probe in self.probes.values():
            probe.work()
        units = {length: max(1, length // lengths[0]) for length in lengths}  # seconds grow about so
        turns = {length: 1 + self.settings.repeats * (length in self.wanted) for length in lengths}
        ends = {length: units[length] * turns[length] * len(self.costs) for length in lengths}
        self.total = sum(ends.values())
        for place, length in enumerate(lengths, 1):
            self._measure(length, units[length])
            self.done = sum(ends[shorter] for shorter in lengths[:place])
        self.report(Progress("bench", self.total, self.total))

    def _measure(self, length: int, unit: int) -> None:
        """Attempt everything at one length, and take turns with what fits if the length was asked for."""
        documents = Documents.random(self.settings.batch, length, self.settings.target, self.conditions)
        affordable = self._affordable(length)
        tried: dict[Cell, Row] = {}
        for cell, costs in sorted(self.costs.items(), key=lambda item: item[1].predict(length)):
            self._begin(cell, length, unit)
            if cell in affordable:
                values, note = costs.attempt(self._work(cell, documents), length, counted=cell[0] == "train")
            else:
                values, note = {}, f"a repetition would take about {significant(costs.predict(length), 2)} s"
            workload, model = cell
            labels = {"workload": workload, "model": model, "length": length, "batch": self.settings.batch}
            values |= {"precision": self.contenders[model].precision_of(workload)}
            if isinstance(subject := self.contenders[model], Subject):
                values |= {"weights": subject.weights(workload)}
            tried[cell] = Row({**labels, **values}, note=note)
        if length not in self.wanted:
            return
        fitting = {cell: self._work(cell, documents) for cell in self.costs if not tried[cell].note}
        timings = self._take_turns(fitting, length, unit)
        profiles = {name: self._profile(name, length) for name in dict.fromkeys(name for _, name in fitting)}
        for cell, row in ((cell, tried[cell]) for cell in self.costs):
            operations, profile = profiles.get(cell[1], (None, {}))
            counted = {"operations": operations} if operations and cell[0] == "encode" else {}
            self.rows.append(Row({**row.values, **profile, **counted}, timings.get(cell), row.note))

    def _take_turns(self, tasks: Mapping[Cell, Work], length: int, unit: int) -> dict[Cell, Timing]:
        """Measure in turns with the machine itself; slow work is not repeated once its part of the time is spent."""
        kept = self._keep(length, tasks)
        everything: dict[Any, Work] = {name: probe.work for name, probe in self.probes.items()} | dict(tasks)
        seconds: dict[Any, list[float]] = {name: [] for name in everything}
        for turn in range(self.settings.repeats):
            for name, work in everything.items():
                if not turn or self.budget.left() - kept > seconds[name][-1]:
                    self.check()
                    if name in tasks:
                        self._begin(name, length, unit)
                    seconds[name].append(clock(work, self.device))
        timings = {name: Timing(tuple(repetitions)) for name, repetitions in seconds.items()}
        for rate, probe in self.probes.items():
            self.machine.append(Row({"rate": rate, "length": length, "amount": probe.amount}, timings.pop(rate)))
        return timings

    def _work(self, cell: Cell, documents: Documents, tokens: int | None = None) -> Work:
        """One repetition of a workload, with fewer tokens generated if that is asked for."""
        workload, contender = cell[0], self.contenders[cell[1]]
        if workload == "generate":
            return partial(contender.generate, documents, self.settings.beams, tokens or self.settings.generate)
        return partial(contender.train if workload == "train" else contender.encode, documents)

    def _profile(self, name: str, length: int) -> tuple[int | None, dict[str, object]]:
        """Operations of one of our encoders, its output lengths, and bytes that a decoding step must read."""
        subject, batch = self.contenders[name], self.settings.batch
        if not isinstance(subject, Subject):
            return None, {}
        profile = profile_model(subject.model, Documents.random(1, length, 1, self.conditions), self.settings.beams)
        cached = DTYPES[subject.precision].itemsize * batch * profile.cached
        step_bytes = SIZES[subject.precision] * profile.weights + cached
        return batch * profile.operations, {"output_lengths": profile.output_lengths, "step_bytes": step_bytes}

    def _affordable(self, length: int) -> set[Cell]:
        """Workloads and systems that fit into the time at a length, given all longer ones."""
        left = self.budget.left()
        if length in self.wanted:
            return {cell for cell, other in afford(self._costs(length), left, _is_model) if other == length}
        once = {(cell, length): costs.predict(length) / (1 + FEWEST) for cell, costs in self.costs.items()}
        return {cell for cell, _ in afford(once, left, _is_model)}

    def _keep(self, length: int, tasks: Collection[Cell]) -> float:
        """Seconds to be left for longer documents, so that all lengths are repeated about as often."""
        left, repeats = self.budget.left(), self.settings.repeats
        later = self._costs(length + 1)
        after = (1 + repeats) * sum(later[key] for key in afford(later, left, _is_model))
        now = repeats * sum(self.costs[cell].predict(length) for cell in tasks)
        return left * after / (now + after) if after else 0.0

    def _costs(self, first: int) -> dict[tuple[Cell, int], float]:
        """Seconds of a repetition of everything at the lengths from this one on."""
        later = [length for length in self.wanted if length >= first]
        return {(cell, length): costs.predict(length) for length in later for cell, costs in self.costs.items()}

    def _begin(self, cell: Cell, length: int, unit: int) -> None:
        """Report what comes next, or stop."""
        self.check()
        self.report(Progress("bench", self.done, self.total, {cell[0]: f"{length:,} tokens, {cell[1]}"}))
        self.done += unit


def _is_model(key: tuple[Cell, int]) -> bool:
    """Whether it is the model, which goes before all others."""
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
