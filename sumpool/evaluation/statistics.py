"""Bootstrap intervals of means over documents, and paired tests of two systems.

Documents are resampled with replacement (Efron, 1979; Koehn, 2004, for pairs of systems), or the two systems are
swapped on each document with probability one half (Fisher's randomization test). Both tests are two-sided and add one
to numerator and denominator, so that no p-value is 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEED = 1
"""Seed of the intervals and tests in tables; fixed, so that equal summaries give equal tables everywhere."""
_PAIR_RESAMPLES = 10_000
"""Resamples of the comparisons of all pairs of systems."""
_LEVEL = 0.05
_TIE = 1e-12
"""Difference of F1 that is rounding."""
_MAX_DRAWS = 1 << 20
"""Random numbers per batch of resamples; bounds memory for any number of documents."""


@dataclass(frozen=True)
class Estimate:
    """Mean over documents with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedTest:
    """Comparison of two systems on the same documents.

    Attributes:
        difference: Mean difference per document, with its 95 % interval.
        bootstrap: p-value of the paired bootstrap.
        permutation: p-value of the paired permutation test (approximate randomisation).
        wins: Documents on which the first system is better.
        ties: Documents on which both are equal.
        losses: Documents on which the other system is better.
    """

    difference: Estimate
    bootstrap: float
    permutation: float
    wins: int
    ties: int
    losses: int


def estimate(values: Floats, resamples: int) -> list[Estimate]:
    """Return the mean of each column with its 95 % percentile bootstrap interval.

    Args:
        values: (documents, columns); all columns share the resamples.
        resamples: Number of resamples.

    Raises:
        ValueError: If there is no document.
    """
    if not len(values):
        raise ValueError("values must contain at least one document, got none")
    means = _resampled_means(values, resamples)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Estimate(*map(float, column)) for column in zip(values.mean(axis=0), low, high, strict=True)]


def estimate_ratio(numerators: Floats, denominators: Floats, resamples: int) -> Estimate:
    """Return the ratio of two means over the same documents with its 95 % percentile bootstrap interval.

    Args:
        numerators: (documents,).
        denominators: (documents,); a resample whose mean is 0 has the ratio NaN.
        resamples: Number of resamples.

    Raises:
        ValueError: If there is no document.
    """
    if not len(numerators):
        raise ValueError("numerators must contain at least one document, got none")
    values = np.stack([numerators, denominators], axis=1)  # (documents, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = _resampled_means(values, resamples)
        low, high = np.nanpercentile(means[:, 0] / means[:, 1], [2.5, 97.5])
        ratio = values[:, 0].mean() / values[:, 1].mean()
    return Estimate(float(ratio), float(low), float(high))


def compare(system: Floats, other: Floats, resamples: int) -> list[PairedTest]:
    """Compare two systems on the same documents, column by column.

    Args:
        system: (documents, columns).
        other: (documents, columns), the same documents in the same order.
        resamples: Number of resamples of each test.

    Raises:
        ValueError: If the shapes differ or there is no document.
    """
    if system.shape != other.shape:
        raise ValueError(f"both systems must be scored on the same documents, got {system.shape} and {other.shape}")
    differences = system - other  # (documents, columns)
    observed = np.abs(differences.mean(axis=0))  # (columns)
    centred = _resampled_means(differences, resamples) - differences.mean(axis=0)  # (resamples, columns)
    random, documents = np.random.default_rng(SEED), len(differences)
    swapped = _weighted_means(  # (resamples, columns)
        differences, resamples, lambda rows: random.choice((-1.0, 1.0), size=(rows, documents))
    )
    wins = (differences > _TIE).sum(axis=0)
    losses = (differences < -_TIE).sum(axis=0)
    return [
        PairedTest(*column)
        for column in zip(
            estimate(differences, resamples),
            _p_values(centred, observed),
            _p_values(swapped, observed),
            *(counts.tolist() for counts in (wins, documents - wins - losses, losses)),
            strict=True,
        )
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p-values of several tests for their number (Holm, 1979), in the order given.

    The probability that any true null hypothesis is rejected stays below the level, whatever the tests depend on.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected


def compare_all(systems: Mapping[str, Floats]) -> list[tuple[str, str, Estimate, float]]:
    """Compare all pairs of systems on the same examples.

    Args:
        systems: Scores of each system, (examples,), the same examples in the same order; those of several seeds follow
            each other.

    Returns:
        For each pair both names, the mean difference with its 95 % interval, and the p-value of the paired permutation
        test, corrected for the number of pairs by Holm's method.

    Raises:
        ValueError: If the numbers of examples differ, or there is none.
    """
    pairs = list(combinations(systems, 2))
    if not pairs:
        return []
    first, second = (np.stack([systems[pair[side]] for pair in pairs], axis=1) for side in (0, 1))
    tests = compare(first, second, _PAIR_RESAMPLES)
    p_values = holm([test.permutation for test in tests])
    return [(*pair, test.difference, p) for pair, test, p in zip(pairs, tests, p_values, strict=True)]


def not_separated(name: str, differences: Sequence[tuple[str, str, Estimate, float]]) -> list[str]:
    """Return the systems that a system does not differ from at the level .05, by `compare_all`."""
    return [
        second if name == first else first
        for first, second, _, p_value in differences
        if p_value >= _LEVEL and name in (first, second)
    ]


def _resampled_means(values: Floats, resamples: int) -> Floats:
    """Means (resamples, columns) of resampled documents."""
    random, documents = np.random.default_rng(SEED), len(values)
    uniform = np.full(documents, 1 / documents)
    return _weighted_means(values, resamples, lambda rows: random.multinomial(documents, uniform, size=rows))


def _weighted_means(values: Floats, resamples: int, draw: Callable[[int], NDArray[Any]]) -> Floats:
    """Means (resamples, columns) of documents times weights, (rows, documents), drawn in batches of bounded memory."""
    rows = max(1, _MAX_DRAWS // len(values))
    sizes = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    return np.concatenate([draw(size) @ values / len(values) for size in sizes])


def _p_values(means: Floats, observed: Floats) -> list[float]:
    # The order of summation changes the last bits; the tolerance counts such ties.
    extreme = (np.abs(means) >= observed * (1 - 1e-12)).sum(axis=0)
    return [float(p) for p in (extreme + 1) / (len(means) + 1)]
