"""A model beside its twins: encoding, a training step and generation at several lengths."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import torch

from sumpool.bench.config import BenchConfig
from sumpool.bench.contender import Contender
from sumpool.bench.cost import count
from sumpool.bench.growth import fit
from sumpool.bench.memory import available, peak
from sumpool.bench.model_rows import GrowthRow, ModelRow
from sumpool.bench.timing import Work, interleave
from sumpool.bench.workload import WORKS, Conditions, Documents, Subject, WorkName, twins
from sumpool.core.model.config import ModelConfig
from sumpool.errors import is_out_of_memory
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent

FIRST = 1024
"""Length that is always tried; every cost at it is small."""
STEP = 4
"""Most that the length may grow between two measurements of memory, so that the next one can be foreseen."""
SHORT = 64
"""Tokens, at most, of the document that everything is tried on first."""
HEADROOM = 0.9
"""Share of the free memory that a benchmark may plan to use."""
NOBODY: Mapping[str, Contender] = MappingProxyType({})
"""No peers."""


def measure_models(
    config: ModelConfig,
    settings: BenchConfig,
    conditions: Conditions,
    peers: Mapping[str, Contender] = NOBODY,
    report: Report = silent,
    check: Check = go_on,
) -> tuple[ModelRow, ...]:
    """Measure a model, its twins and its peers, all in the same turns.

    A length whose memory may not suffice is left out with a note instead of being tried: what a shorter length took
    grows at most with the square of the length.

    Args:
        config: The model.
        settings: Lengths, batch, sizes and repetitions.
        conditions: Vocabulary, device, precision and seed.
        peers: Other systems by name; a work that one cannot do is left out with its reason.
        report: Told of every work at every length.
        check: Called between repetitions; it may raise to stop.

    Returns:
        Rows by work, then length, then model.
    """
    lengths = sorted(set(settings.lengths))
    subjects = {name: Subject(twin, conditions) for name, twin in twins(config, lengths[-1]).items()}
    contenders: dict[str, Contender] = {**subjects, **peers}
    climbs = {(work, name): _Climb(conditions.device) for work in WORKS for name in contenders}
    _warm_up(subjects["model"], min(SHORT, lengths[0]), settings)
    rows: list[ModelRow] = []
    done = 0
    for length in _with_steps(lengths):
        documents = Documents.random(settings.batch, length, settings.target, conditions)
        for work in WORKS:
            runs = {name: _run(contender, work, documents, settings) for name, contender in contenders.items()}
            tried = {}
            for name, run in runs.items():
                check()
                tried[name] = climbs[work, name].attempt(run, ModelRow(work, name, length, settings.batch))
            if length not in lengths:
                continue
            fitting = {name: runs[name] for name, row in tried.items() if not row.note}
            timings = interleave(fitting, settings.repeats, conditions.device, check)
            rows += [replace(row, timing=timings.get(name)) for name, row in tried.items()]
            done += 1
            report(Progress("bench", done, len(lengths) * len(WORKS), {work: f"{length:,} tokens"}))
    return tuple(sorted(rows, key=lambda row: (WORKS.index(row.work), row.length)))


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


@dataclass
class _Climb:
    """One model at one work, length by length, and the memory that the last length took."""

    device: torch.device
    length: int = 0
    memory: int | None = None

    def attempt(self, run: Work, row: ModelRow) -> ModelRow:
        """Measure memory and operations once, or note why not."""
        if self.memory is not None:
            needed = self.memory * (row.length / self.length) ** 2
            free = available(self.device)
            if needed > HEADROOM * free:
                return replace(row, note=f"may need {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free")
        counted: list[int] = []
        try:
            memory = peak(lambda: counted.append(count(run)), self.device)
        except NotImplementedError as error:
            return replace(row, note=str(error))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return replace(row, note="memory ended")
        self.length, self.memory = row.length, memory
        return replace(row, memory=memory, operations=counted[0] or None)


def _warm_up(subject: Subject, length: int, settings: BenchConfig) -> None:
    """Do every work once on a short document: what libraries keep from their first call is no memory of a model."""
    documents = Documents.random(1, length, settings.target, subject.conditions)
    for work in WORKS:
        count(_run(subject, work, documents, settings))


def _with_steps(lengths: Sequence[int]) -> list[int]:
    """Fill gaps, so that no length is more than STEP times the one before, and the first is at most FIRST."""
    steps = [min(FIRST, lengths[0])]
    for length in lengths:
        while length > STEP * steps[-1]:
            steps.append(STEP * steps[-1])
        if length > steps[-1]:
            steps.append(length)
    return steps


def _run(contender: Contender, work: WorkName, documents: Documents, settings: BenchConfig) -> Callable[[], None]:
    """One repetition of a work."""
    if work == "generate":
        return partial(contender.generate, documents, settings.beams, settings.generate)
    return partial(contender.train if work == "train" else contender.encode, documents)
