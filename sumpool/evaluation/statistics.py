"""How sure a mean over documents is, and whether two systems differ on the same documents.

Documents are the unit: they are drawn again with replacement (Efron, 1979; Koehn, 2004, for pairs of systems), or the
two systems change places on each document by the toss of a coin (Fisher's randomization test). Both tests are
two-sided and add one to numerator and denominator, so that no p-value is 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEED = 1
"""Of the intervals and tests in tables; fixed, so that the same summaries give the same table everywhere."""
_CELLS = 1 << 20
"""Random numbers drawn at a time: bounds memory whatever the number of documents."""


@dataclass(frozen=True)
class Estimate:
    """A mean over documents and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedTest:
    """How much a system is above another one on the same documents.

    Attributes:
        difference: Mean of the differences, with its 95 % interval.
        bootstrap: p-value of the paired bootstrap.
        permutation: p-value of the paired permutation test.
    """

    difference: Estimate
    bootstrap: float
    permutation: float


def estimate(values: Floats, resamples: int, seed: int) -> list[Estimate]:
    """Give the mean of each column and its 95 % percentile bootstrap interval.

    Args:
        values: (documents, columns); every column sees the same draws of documents.
        resamples: How often the documents are drawn.
        seed: Seed of the draws.

    Raises:
        ValueError: If there is no document.
    """
    if not len(values):
        raise ValueError("values must hold at least one document, got none")
    means = _resampled_means(values, resamples, seed)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Estimate(*map(float, ends)) for ends in zip(values.mean(axis=0), low, high, strict=True)]


def compare(system: Floats, other: Floats, resamples: int, seed: int) -> list[PairedTest]:
    """Compare two systems on the same documents, column by column.

    Args:
        system: (documents, columns).
        other: (documents, columns), the same documents in the same order.
        resamples: How often documents are drawn, and how often the systems change places.
        seed: Seed of both.

    Raises:
        ValueError: If the shapes differ or there is no document.
    """
    if system.shape != other.shape:
        raise ValueError(f"both systems must be scored on the same documents, got {system.shape} and {other.shape}")
    differences = system - other  # (documents, columns)
    observed = np.abs(differences.mean(axis=0))  # (columns)
    drawn = _resampled_means(differences, resamples, seed) - differences.mean(axis=0)  # (resamples, columns)
    swapped = _swapped_means(differences, resamples, seed)  # (resamples, columns)
    return [
        PairedTest(*each)
        for each in zip(
            estimate(differences, resamples, seed),
            _p_values(drawn, observed),
            _p_values(swapped, observed),
            strict=True,
        )
    ]


def _resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """Draw the documents again and again: the means, (resamples, columns)."""
    random = np.random.default_rng(seed)
    documents = len(values)
    even = np.full(documents, 1 / documents)
    return np.concatenate(
        [random.multinomial(documents, even, size=rows) @ values / documents for rows in _chunks(resamples, documents)]
    )


def _swapped_means(differences: Floats, resamples: int, seed: int) -> Floats:
    """Toss a coin for the sign of every document's difference: the means, (resamples, columns)."""
    random = np.random.default_rng(seed)
    documents = len(differences)
    return np.concatenate(
        [
            random.choice((-1.0, 1.0), size=(rows, documents)) @ differences / documents
            for rows in _chunks(resamples, documents)
        ]
    )


def _p_values(means: Floats, observed: Floats) -> list[float]:
    # Sums in another order differ in the last bits; such a tie counts as one.
    extreme = (np.abs(means) >= observed * (1 - 1e-12)).sum(axis=0)
    return [float(p) for p in (extreme + 1) / (len(means) + 1)]


def _chunks(resamples: int, documents: int) -> list[int]:
    """Cut the resamples into runs whose random numbers fit the memory."""
    rows = max(1, _CELLS // documents)
    return [min(rows, resamples - start) for start in range(0, resamples, rows)]
