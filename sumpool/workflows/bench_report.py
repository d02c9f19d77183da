"""What all benchmarks share: lengths from the command line, signals, and a report with all that it takes to read it."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch

from sumpool.bench.results.machine import describe, versions
from sumpool.bench.results.result import BenchReport, Found
from sumpool.bench.systems.workload import Conditions
from sumpool.errors import Interrupted


def chosen_lengths(lengths: Sequence[int]) -> tuple[str, ...]:
    """Lengths as a setting to change; none if there are none."""
    return (f"bench.lengths={list(lengths)}",) if lengths else ()


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Say of a signal that what was measured is lost.

    Raises:
        Interrupted: If a signal has come.
    """
    try:
        yield
    except Interrupted as stop:
        name = signal.Signals(stop.number).name
        raise Interrupted(stop.number, f"stopped by {name}; a benchmark that is not finished keeps nothing") from stop


def compose(
    recipe: str, suite: str, conditions: Conditions, settings: Mapping[str, object], found: Found
) -> BenchReport:
    """Add everything that it takes to read the figures."""
    return BenchReport(
        recipe=recipe,
        suite=suite,
        machine=describe(conditions.device),
        versions=versions(),
        device=conditions.device.type,
        precision="bf16" if conditions.precision is torch.bfloat16 else "fp32",
        settings=dict(settings),
        found=found,
    )
