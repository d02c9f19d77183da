"""The time of a benchmark: what fits into it, and how much of it each length is given."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Name = TypeVar("Name")
FEWEST = 2
"""Counted repetitions for which there must be time, beside the first one that is not counted."""


@dataclass
class Budget:
    """Seconds that may be spent from now on.

    Attributes:
        seconds: All of them.
        now: Reads the time, in seconds.
    """

    seconds: float
    now: Callable[[], float] = time.perf_counter
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.now()

    def left(self) -> float:
        """Seconds that are left; below zero when more were spent."""
        return self._start + self.seconds - self.now()


def afford(costs: Mapping[Name, float], seconds: float, first: Callable[[Name], bool]) -> set[Name]:
    """Choose what there is time for, the cheap before the costly, so that many rows outweigh one.

    Args:
        costs: Seconds of a repetition of everything that is still to come.
        seconds: That are left.
        first: Whether something goes before all others, whatever it costs.
    """
    chosen = set()
    for name in sorted(costs, key=lambda name: (not first(name), costs[name])):
        needed = (1 + FEWEST) * costs[name]
        if needed <= max(seconds, 0):
            chosen.add(name)
            seconds -= needed
    return chosen
