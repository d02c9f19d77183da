"""Times as sums of a few terms, by least squares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Regression:
    """The best sum of the terms.

    Attributes:
        coefficients: One for each term.
        explained: R squared; 1 hits every time.
    """

    coefficients: tuple[float, ...]
    explained: float

    def relative(self) -> tuple[float | None, ...]:
        """Coefficients in proportion to the first; None where that one is not above nothing, which is noise."""
        first = self.coefficients[0]
        return tuple(each / first if first > 0 else None for each in self.coefficients)


def regress(terms: Sequence[Sequence[float]], times: Sequence[float]) -> Regression:
    """Fit times = sum of coefficient * term.

    Args:
        terms: For each time, the values of the terms.
        times: In seconds.

    Raises:
        ValueError: If there are fewer times than terms, or not as many rows of terms.
    """
    if len(terms) != len(times) or not times or len(times) < len(terms[0]):
        raise ValueError(f"times must be as many as rows of terms and no fewer than terms, got {len(times)}")
    matrix, measured = np.asarray(terms, float), np.asarray(times, float)
    scale = np.abs(matrix).max(0)  # squares of lengths beside a one would cost digits
    scale[scale == 0] = 1
    found, *_ = np.linalg.lstsq(matrix / scale, measured, rcond=None)
    missed = float(((measured - matrix / scale @ found) ** 2).sum())
    spread = float(((measured - measured.mean()) ** 2).sum())
    return Regression(tuple((found / scale).tolist()), 1 - missed / spread if spread else 1.0)
