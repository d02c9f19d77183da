"""Candidates of a summary, and their selection by score less redundancy, within a budget of words."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import ENGLISH, word_count
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.words import content_prefixes, split_words

_REDUNDANCY: Final = 0.2
"""Penalty of a sentence whose content words are all in the selected ones, on the scale of marks."""
_MIN_WORDS = 4
"""Words of a candidate."""
OVERRUN: Final = 1.1
"""Words of a selection at most, relative to the budget."""


def find_candidates(sentences: Sequence[SourceSentence]) -> list[int]:
    """Return the indices of the sentences of prose, which a summary may consist of."""
    return [
        index
        for index, sentence in enumerate(sentences)
        if sentence.kind in PROSE_KINDS and word_count(sentence.text) >= _MIN_WORDS
    ]


def select(
    texts: Sequence[str],
    scores: NDArray[np.float64],
    words: int,
    language: str = ENGLISH,
    *,
    redundancy: float = _REDUNDANCY,
    minimum: float = -math.inf,
) -> list[int]:
    """Select candidates greedily by score less redundancy, until the budget is filled.

    Args:
        texts: Texts of the candidates.
        scores: Their scores, (candidates,).
        words: Words of the selection; the best candidate is selected even if it is longer.
        language: Code of their language.
        redundancy: Penalty of a sentence whose content words are all in the selected ones, in units of the score.
        minimum: Score less redundancy of a further candidate at least, once half of the words are selected.

    Returns:
        Indices of the selected candidates, best first.
    """

    @cache
    def content(index: int) -> frozenset[str]:  # of few candidates, as most have a score too low
        return frozenset(content_prefixes(split_words(texts[index], language), language))

    sizes = list(map(word_count, texts))
    ranked = np.argsort(-scores, kind="stable").tolist()
    selected: list[int] = []
    covered: set[str] = set()
    used = 0
    while True:
        best, best_score = -1, -math.inf
        for index in ranked:
            if scores[index] <= best_score:
                break
            if index in selected or (selected and used + sizes[index] > OVERRUN * words):
                continue
            overlap = len(content(index) & covered) / max(len(content(index)), 1)
            score = float(scores[index]) - redundancy * overlap**2
            if score > best_score:
                best, best_score = index, score
        if best < 0 or (best_score < minimum and used >= words / 2):
            return selected
        selected.append(best)
        used += sizes[best]
        covered |= content(best)
