"""Paired t-test (Student, 1908), without scipy.

The distribution function is the regularised incomplete beta function, evaluated by its continued fraction (Lentz's
method; Press et al., Numerical Recipes, section 6.4).
"""

import math
from dataclasses import dataclass

from sumpool.evaluation.statistics import Floats

_TERMS = 10_000
"""Most terms of the continued fraction, which needs about the square root of the larger parameter."""
_TINY = 1e-300
_PRECISION = 1e-15


@dataclass(frozen=True)
class TTest:
    """Two-sided paired t-test of the mean of differences against 0.

    Attributes:
        pairs: Number of pairs.
        difference: Mean difference.
        statistic: Mean difference in standard errors; infinite for equal differences other than 0.
        p_value: Probability of a statistic at least as large if the true mean is 0; 1 for fewer than two pairs.
    """

    pairs: int
    difference: float
    statistic: float
    p_value: float


def paired_t_test(differences: Floats) -> TTest:
    """Test whether the mean of paired differences is 0.

    Args:
        differences: (pairs,).

    Raises:
        ValueError: If there is no pair.
    """
    pairs = len(differences)
    if not pairs:
        raise ValueError("differences must contain at least one pair, got none")
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(pairs) if pairs > 1 else math.nan
    if pairs == 1 or (error == 0 and mean == 0):
        return TTest(pairs, mean, 0.0, 1.0)
    statistic = mean / error if error else math.copysign(math.inf, mean)
    return TTest(pairs, mean, statistic, tail_probability(statistic, pairs - 1))


def tail_probability(statistic: float, freedom: int) -> float:
    """Return the probability that Student's t exceeds a statistic in absolute value."""
    if math.isinf(statistic):
        return 0.0
    if abs(statistic) < 1:  # the argument below would be rounded to 1
        return 1.0 - incomplete_beta(0.5, freedom / 2, statistic**2 / (freedom + statistic**2))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + statistic**2))


def incomplete_beta(first: float, second: float, x: float) -> float:
    """Return the regularised incomplete beta function of two positive parameters at x in [0, 1]."""
    if x in (0.0, 1.0):
        return x
    if x > (first + 1) / (first + second + 2):  # the fraction converges fast below the mean only
        return 1.0 - incomplete_beta(second, first, 1.0 - x)
    scale = math.lgamma(first + second) - math.lgamma(first) - math.lgamma(second)
    front = math.exp(scale + first * math.log(x) + second * math.log1p(-x)) / first
    upper, lower = 1.0, _nonzero(1.0 - (first + second) * x / (first + 1))
    lower = 1.0 / lower
    value = lower
    for term in range(1, _TERMS):
        even = term * (second - term) * x / ((first + 2 * term - 1) * (first + 2 * term))
        odd = -(first + term) * (first + second + term) * x / ((first + 2 * term) * (first + 2 * term + 1))
        for numerator in (even, odd):
            lower = 1.0 / _nonzero(1.0 + numerator * lower)
            upper = _nonzero(1.0 + numerator / upper)
            value *= lower * upper
        if abs(lower * upper - 1.0) < _PRECISION:
            break
    return front * value


def _nonzero(value: float) -> float:
    return value if abs(value) >= _TINY else _TINY
