"""Statistics of repetitions and costs: ratios with distribution-free intervals, and least-squares fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

import numpy as np

CONFIDENCE = 0.95
"""Probability that an interval holds the true ratio."""


@dataclass(frozen=True)
class SpeedRatio:
    """Repetitions now over repetitions before.

    Attributes:
        estimate: Median of all quotients of a repetition now and one before (Hodges and Lehmann, 1963).
        interval: Confidence interval; None where the repetitions are too few for one.
    """

    estimate: float
    interval: tuple[float, float] | None

    @property
    def changed(self) -> bool:
        """Whether the interval excludes 1."""
        return self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]


def compare(before: Sequence[float], now: Sequence[float]) -> SpeedRatio:
    """Estimate the factor by which repetitions changed, if they are independent and one factor changed all of them.

    The interval leaves out as many of the smallest and largest quotients as the test of Mann and Whitney (1947) does
    not reject.
    """
    quotients = sorted(new / old for old in before for new in now)
    counts = orderings(len(before), len(now))
    left_out = sum(total <= (1 - CONFIDENCE) / 2 * sum(counts) for total in accumulate(counts))
    interval = (quotients[left_out - 1], quotients[-left_out]) if left_out else None
    return SpeedRatio(median(quotients), interval)


def orderings(first: int, second: int) -> list[int]:
    """Numbers of orderings of two samples by Mann and Whitney's U: coefficients of the Gaussian binomial."""
    size = first * second + 1
    counts = np.zeros(size, dtype=object)  # of whole numbers without bounds
    counts[0] = 1
    for step in range(1, first + 1):  # times (1 - q ** (second + step)) / (1 - q ** step)
        counts[second + step :] -= counts[: max(0, size - second - step)].copy()
        for place in range(step, size):
            counts[place] += counts[place - step]
    return [int(count) for count in counts]


@dataclass(frozen=True)
class Regression:
    """Best sum of the terms.

    Attributes:
        coefficients: One for each term.
        r_squared: Explained share of the variance; 1 is an exact fit.
    """

    coefficients: tuple[float, ...]
    r_squared: float

    def relative(self) -> tuple[float | None, ...]:
        """Coefficients in proportion to the first; None where the first is not positive, which is noise."""
        first = self.coefficients[0]
        return tuple(coefficient / first if first > 0 else None for coefficient in self.coefficients)


def regress(terms: Sequence[Sequence[float]], times: Sequence[float]) -> Regression:
    """Fit times = sum of coefficient * term.

    Raises:
        ValueError: If there are fewer times than terms, or not as many rows of terms.
    """
    if len(terms) != len(times) or not times or len(times) < len(terms[0]):
        raise ValueError(f"times must be as many as rows of terms and no fewer than terms, got {len(times)}")
    matrix, measured = np.asarray(terms, float), np.asarray(times, float)
    scale = np.abs(matrix).max(0)  # squares of lengths beside a one would cost digits
    scale[scale == 0] = 1
    solution, *_ = np.linalg.lstsq(matrix / scale, measured, rcond=None)
    residual = float(((measured - matrix / scale @ solution) ** 2).sum())
    variance = float(((measured - measured.mean()) ** 2).sum())
    return Regression(tuple((solution / scale).tolist()), 1 - residual / variance if variance else 1.0)


def growth_exponent(lengths: Sequence[int], costs: Sequence[float]) -> float | None:
    """Exponent e of the best fit cost = c * length ** e: 1 is linear, 2 quadratic. A fixed part lowers it.

    Returns:
        None with fewer than three lengths, or a cost of nothing: there is no growth to tell.

    Raises:
        ValueError: If there is not one cost for each length.
    """
    if len(lengths) != len(costs):
        raise ValueError(f"costs must be as many as lengths, got {len(costs)} for {len(lengths)}")
    if len(set(lengths)) < 3 or min(costs) <= 0:
        return None
    return float(np.polyfit(np.log(lengths), np.log(costs), 1)[0])
