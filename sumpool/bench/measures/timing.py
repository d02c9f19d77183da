"""Seconds, measured so that a noisy machine shows instead of deceiving.

What is compared takes turns in one process (A B C A B C ...): a slow minute slows all of it, and ratios keep. Medians
are reported with their spread, because on a shared machine single figures drift by a third between minutes.
"""

import math
import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import torch

from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report

Work = Callable[[], object]
"""One repetition of what is measured; its result is thrown away."""
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Timing:
    """What the repetitions of one work took.

    Attributes:
        seconds: Every counted repetition, in the order measured; at least one.
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle repetition, in seconds."""
        return statistics.median(self.seconds)

    @property
    def fastest(self) -> float:
        """The fastest repetition, in seconds."""
        return min(self.seconds)

    @property
    def slowest(self) -> float:
        """The slowest repetition, in seconds."""
        return max(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest over fastest: 1 is a quiet machine, above 1.5 nothing should be concluded."""
        return self.slowest / max(self.fastest, 1e-9)

    def part(self, parts: int) -> "Timing":
        """What one of several equal parts of the work took."""
        return Timing(tuple(taken / parts for taken in self.seconds))


@dataclass
class Steps:
    """A check that also counts: called before every step of long work, it stops it or says how far it is.

    Attributes:
        total: Steps in all, at most.
        report: Told how far it is.
        check: May raise to stop.
        done: Steps done so far.
    """

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
        """Say that all is done, whatever was left out."""
        self.report(Progress("bench", self.total, self.total))


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what it was given; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def interleave(
    works: Mapping[Name, Work],
    repeats: int,
    device: torch.device,
    check: Check = go_on,
    enough: float = math.inf,
) -> dict[Name, Timing]:
    """Measure several works in turns, after one repetition of each that is not counted.

    Args:
        works: What to measure, by name.
        repeats: Counted repetitions of each.
        device: Where they run.
        check: Called before every repetition; it may raise to stop.
        enough: Counted seconds after which a work is not repeated again.

    Raises:
        ValueError: If repeats is below 1.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    seconds: dict[Name, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            if sum(seconds[name]) >= enough:
                continue
            check()
            took = clock(work, device)
            if turn:
                seconds[name].append(took)
    return {name: Timing(tuple(taken)) for name, taken in seconds.items()}


def clock(work: Work, device: torch.device) -> float:
    """Measure one repetition, in seconds."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start
