"""Time budget of a benchmark, and predictions of time and memory at the next document length."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.timing import Work, clock
from sumpool.training.memory import Peak, available, try_peak

Name = TypeVar("Name")
HEADROOM = 0.9
"""Share of the free memory that a benchmark may plan to use."""
FEWEST = 2
"""Counted repetitions for which there must be time, beside the first one that is not counted."""


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
