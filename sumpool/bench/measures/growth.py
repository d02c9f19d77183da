"""How a cost grows with the length of the document."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Growth:
    """Two fits through the same measurements.

    Attributes:
        exponent: e of the best fit cost = c * length ** e: 1 is linear, 2 quadratic. A fixed part lowers it.
        straightness: R squared of the best straight line cost = a + b * length; 1 is a straight line.
    """

    exponent: float
    straightness: float


def fit(lengths: Sequence[int], costs: Sequence[float]) -> Growth | None:
    """Fit the costs measured at several lengths.

    Returns:
        None with fewer than three lengths, or a cost of nothing: there is no growth to tell.

    Raises:
        ValueError: If there is not one cost for each length.
    """
    if len(lengths) != len(costs):
        raise ValueError(f"costs must be as many as lengths, got {len(costs)} for {len(lengths)}")
    if len(set(lengths)) < 3 or min(costs) <= 0:
        return None
    exponent, _ = np.polyfit([math.log(length) for length in lengths], [math.log(cost) for cost in costs], 1)
    slope, intercept = np.polyfit(lengths, costs, 1)
    missed = sum((cost - intercept - slope * length) ** 2 for length, cost in zip(lengths, costs, strict=True))
    spread = sum((cost - sum(costs) / len(costs)) ** 2 for cost in costs)
    return Growth(float(exponent), 1.0 - float(missed) / spread if spread else 1.0)
