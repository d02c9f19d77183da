"""A model beside its twins and peers: encoding, a training step and generation at several lengths."""

from collections.abc import Mapping
from types import MappingProxyType

from sumpool.bench.config import BenchConfig
from sumpool.bench.models.ascent import Ascent
from sumpool.bench.models.budget import Budget
from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.shares import fit_growth, share_rates, step_rows
from sumpool.bench.systems.contender import Contender
from sumpool.bench.systems.workload import WORKS, Conditions, Subject, twins
from sumpool.core.model.config import ModelConfig
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent

SECONDS = {"cpu": 540.0, "cuda": 100.0}
"""Time that everything may take."""
WITH_PEERS = 6
"""How many times as much it may take with peers."""
NOBODY: Mapping[str, Contender] = MappingProxyType({})
"""No peers."""


def measure_models(
    config: ModelConfig,
    settings: BenchConfig,
    conditions: Conditions,
    peers: Mapping[str, Contender] = NOBODY,
    report: Report = silent,
    check: Check = go_on,
) -> FoundModels:
    """Measure a model, its twins and its peers, all in the same turns.

    A length for which memory or time may not suffice is left out with a note instead of being tried.

    Args:
        config: The model.
        settings: Lengths, works, batch, sizes, repetitions and time.
        conditions: Vocabulary, device, precision and seed.
        peers: Other systems by name; a work that one cannot do is left out with its reason.
        report: Told of every repetition.
        check: Called between repetitions; it may raise to stop.
    """
    seconds = settings.seconds
    if seconds == "auto":
        seconds = SECONDS[conditions.device.type] * (WITH_PEERS if peers else 1)
    budget = Budget(seconds)
    report(Progress("bench", note=f"this takes at most about {seconds:,.0f} s; bench.seconds changes that"))
    precision = None if settings.precision == "auto" else settings.precision
    longest = max(settings.lengths)
    found = twins(config, longest)
    chosen = {name: found[name] for name in ("model", *settings.twins) if name in found}
    subjects = {name: Subject(each, conditions, precision) for name, each in chosen.items()}
    ascent = Ascent({**subjects, **peers}, settings, conditions, budget, report, check)
    ascent.climb()
    rows = sorted(ascent.rows, key=lambda row: (WORKS.index(row.work), row.length))
    return FoundModels(
        models=share_rates(rows, ascent.rates),
        growth=fit_growth(rows),
        generate=settings.generate,
        beams=settings.beams,
        steps=step_rows(rows, ascent.rates, ascent.reads, settings.generate),
        rates=tuple(ascent.rates),
        seconds=seconds - budget.left(),
    )
