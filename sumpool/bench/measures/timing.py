"""Timing in turns.

Works that are compared take turns in one process (A B C A B C ...): a slow minute of the machine slows all of them, and
ratios hold. Medians are reported with their spread, because single figures on a shared machine drift by a third.
"""

import math
import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import torch

from sumpool.progress import Check, Progress, Report, no_op

Work = Callable[[], object]
"""One repetition of what is measured; the result is discarded."""
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Timing:
    """Seconds of every counted repetition, in the order measured; at least one."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the repetitions, in seconds."""
        return statistics.median(self.seconds)

    @property
    def fastest(self) -> float:
        """Fastest repetition, in seconds."""
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest over fastest repetition: 1 is a quiet machine, above 1.5 nothing should be concluded."""
        return max(self.seconds) / max(self.fastest, 1e-9)


@dataclass
class Steps:
    """Progress of work with a known number of steps; calling it begins a step, or stops where `check` raises."""

    total: int
    report: Report
    check: Check
    done: int = 0

    def __call__(self) -> None:
        """Begin a step."""
        self.check()
        self.report(Progress("bench", self.done, self.total))
        self.done += 1

    def finish(self) -> None:
        """Report the end, whatever was left out."""
        self.report(Progress("bench", self.total, self.total))


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished; a no-op on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def clock(work: Work, device: torch.device) -> float:
    """Seconds of one repetition."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


def interleave(
    tasks: Mapping[Name, Work], repeats: int, device: torch.device, check: Check = no_op, enough: float = math.inf
) -> dict[Name, Timing]:
    """Measure several tasks in turns, after one repetition of each that is not counted.

    Args:
        tasks: What to measure, by name.
        repeats: Counted repetitions of each.
        device: Where the works run.
        check: Called before every repetition; may raise to stop.
        enough: Counted seconds after which a work is not repeated again.

    Raises:
        ValueError: If repeats is below 1.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    seconds: dict[Name, list[float]] = {name: [] for name in tasks}
    for turn in range(repeats + 1):
        for name, work in tasks.items():
            if sum(seconds[name]) < enough:
                check()
                elapsed = clock(work, device)
                seconds[name] += [elapsed] if turn else []
    return {name: Timing(tuple(repetitions)) for name, repetitions in seconds.items()}
