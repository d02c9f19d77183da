"""Evaluation settings, the `evaluate` section of a recipe, and the slices of documents that they define."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sumpool.settings import Settings


class EvaluationConfig(Settings):
    """ROUGE, confidence intervals and baselines."""

    stemmer: bool = True
    """Whether words are stemmed with Porter's stemmer before they are compared."""
    resamples: int = Field(1000, ge=100)
    """Resamples of the bootstrap for 95 % intervals, and of the paired tests."""
    lead_words: int = Field(60, ge=1)
    """Length of the baselines LEAD and LexRank, in words."""
    oracle_sentences: int = Field(3, ge=1)
    """Maximum number of sentences of the greedy extractive oracle."""
    low_leak: float = Field(0.2, ge=0, le=1)
    """Upper bound of the slice low-leak: fraction of the reference's 8-grams that occur in the document."""


def slices(leaks: Sequence[float] | NDArray[np.float64], low_leak: float) -> dict[str, NDArray[np.bool_]]:
    """Return the members (documents,) of the slices "all" and "low-leak"; a slice without documents is left out.

    Args:
        leaks: Fraction of each reference's 8-grams that occur in its document; NaN if unknown.
        low_leak: Bound below which a reference counts as not copied from its document.
    """
    members = {"all": np.ones(len(leaks), dtype=bool), "low-leak": np.asarray(leaks) < low_leak}
    return {name: mask for name, mask in members.items() if mask.any()}
