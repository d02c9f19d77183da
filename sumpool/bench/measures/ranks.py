"""How much slower one set of repetitions is than another: an interval by ranks, which asks nothing of their spread."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""How often an interval holds the true ratio."""


@dataclass(frozen=True)
class Ratio:
    """Now over before.

    Attributes:
        middle: The median of all quotients of a repetition now and one before (Hodges and Lehmann, 1963).
        interval: Where the true one lies; None where the repetitions are too few to tell.
    """

    middle: float
    interval: tuple[float, float] | None

    @property
    def changed(self) -> bool:
        """Whether the interval leaves 1 out."""
        return self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]


def compare(before: Sequence[float], now: Sequence[float]) -> Ratio:
    """Estimate by what factor repetitions changed, if they are independent and changed by one factor.

    The interval leaves out as many of the smallest and largest quotients as the test of Mann and Whitney (1947) would
    bear with no change at all.

    Args:
        before: Seconds, at least one.
        now: Seconds, at least one.
    """
    quotients = sorted(new / old for old in before for new in now)
    left_out = _left_out(len(before), len(now))
    interval = (quotients[left_out - 1], quotients[-left_out]) if left_out else None
    return Ratio(statistics.median(quotients), interval)


def _left_out(first: int, second: int) -> int:
    """How many quotients at each end the interval begins with: none where even the outermost are too few."""
    counts = orderings(first, second)
    rest = (1 - CONFIDENCE) / 2 * sum(counts)
    left_out = 0
    for count in counts:
        rest -= count
        if rest < 0:
            break
        left_out += 1
    return left_out


def orderings(first: int, second: int) -> list[int]:
    """Count the orderings of two samples by how many pairs have the second below: coefficients of Gauss's binomial."""
    size = first * second + 1
    counts = [1] + [0] * (size - 1)
    for step in range(1, first + 1):  # times (1 - q ** (second + step)) / (1 - q ** step)
        for place in range(size - 1, second + step - 1, -1):
            counts[place] -= counts[place - second - step]
        for place in range(step, size):
            counts[place] += counts[place - step]
    return counts
