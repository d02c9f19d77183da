"""Selection of candidates by their scores, less redundancy, within a budget of words."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.word_features import content_prefixes, split_words
from sumpool.text.language import ENGLISH, word_count

REDUNDANCY: Final = 0.15
"""Penalty of a sentence whose content words are all in the selected ones, in units of the score."""
_OVERRUN = 1.1
"""Words of a selection at most, relative to the budget."""


def select(
    candidates: Sequence[CandidateSentence],
    scores: NDArray[np.float64],
    words: int,
    language: str = ENGLISH,
    *,
    redundancy: float = REDUNDANCY,
    overrun: float = _OVERRUN,
) -> list[int]:
    """Select candidates greedily by score less redundancy, until the budget is filled.

    A sentence that refers to its predecessor is selected together with it.

    Args:
        candidates: The candidates.
        scores: Their scores, see `Ranker.score`.
        words: Words of the selection; the best candidate is selected even if it is longer.
        language: Code of their language.
        redundancy: Penalty of a sentence whose content words are all in the selected ones.
        overrun: Words of the selection at most, relative to `words`.

    Returns:
        Indices of the selected candidates, best first.
    """
    content = [frozenset(content_prefixes(split_words(item.text, language), language)) for item in candidates]
    sizes = [word_count(candidate.text) for candidate in candidates]
    units = [_unit(candidates, index) for index in range(len(candidates))]
    means = [float(np.mean([scores[member] for member in unit])) for unit in units]
    selected: list[int] = []
    covered: set[str] = set()
    used = 0
    while True:
        best, best_score = -1, -math.inf
        for index, unit in enumerate(units):
            if means[index] <= best_score or index in selected:
                continue
            size = sum(sizes[member] for member in unit if member not in selected)
            if selected and used + size > overrun * words:
                continue
            overlap = len(content[index] & covered) / max(len(content[index]), 1)
            score = means[index] - redundancy * overlap**2
            if score > best_score:
                best, best_score = index, score
        if best < 0:
            return selected
        members = [member for member in reversed(units[best]) if member not in selected]
        selected += members
        used += sum(sizes[member] for member in members)
        covered = covered.union(*(content[member] for member in members))


def _unit(candidates: Sequence[CandidateSentence], index: int) -> list[int]:
    """Return a candidate and the predecessors that it refers to."""
    unit = [index]
    while (predecessor := candidates[unit[-1]].predecessor) is not None:
        unit.append(predecessor)
    return unit
