"""Selection of candidates by their scores, less redundancy, within a budget of words."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.candidates import CandidateSentence, find_candidates
from sumpool.ranking.genres import Genre
from sumpool.ranking.openings import name_line
from sumpool.ranking.word_features import content_prefixes, split_words
from sumpool.text.language import ENGLISH, word_count
from sumpool.text.prose import PROSE_KINDS

REDUNDANCY: Final = 0.15
"""Penalty of a sentence whose content words are all in the selected ones, in units of the score."""
_MIN_WORDS = 4
"""Words of a sentence of prose."""
OVERRUN: Final = 1.1
"""Words of a selection at most, relative to the budget."""


def summary_candidates(
    document: Document, sentences: Sequence[SourceSentence], language: str = ENGLISH, genre: Genre = ""
) -> list[CandidateSentence]:
    """Return the sentences that a summary may consist of.

    Those of documents with blocks or marked headings, and of the text of manual pages, are whole statements that stand
    alone, see `find_candidates`. In other texts, such as prepared data, all sentences of prose are candidates: cleaning
    has left nothing else.
    """
    is_marked = any(item.kind == "heading" and item.text.startswith("#") for item in sentences)
    if document.blocks or genre or is_marked or _is_manual_page(sentences, language):
        return find_candidates(document, sentences, language, genre)
    return prose_candidates(sentences)


def _is_manual_page(sentences: Sequence[SourceSentence], language: str) -> bool:
    """Return whether the first sentence of prose names and describes the subject, as in manual pages."""
    first = next((item.text for item in sentences if item.kind in PROSE_KINDS), "")
    return bool(name_line(first, language))


def prose_candidates(sentences: Sequence[SourceSentence]) -> list[CandidateSentence]:
    """Return all sentences of prose of a document as candidates, more than a summary may consist of."""
    return [
        CandidateSentence(sentence.text, index, index)
        for index, sentence in enumerate(sentences)
        if sentence.kind in PROSE_KINDS and len(sentence.text.split()) >= _MIN_WORDS
    ]


def select(
    candidates: Sequence[CandidateSentence],
    scores: NDArray[np.float64],
    words: int,
    language: str = ENGLISH,
    *,
    redundancy: float = REDUNDANCY,
    overrun: float = OVERRUN,
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
    return fill_budget(
        candidates,
        scores,
        lambda text: content_prefixes(split_words(text, language), language),
        words,
        redundancy=redundancy,
        overrun=overrun,
    )


def fill_budget(
    candidates: Sequence[CandidateSentence],
    scores: NDArray[np.float64],
    tokenize: Callable[[str], Sequence[str]],
    words: int,
    *,
    redundancy: float,
    overrun: float = OVERRUN,
    minimum: float = -math.inf,
) -> list[int]:
    """Select candidates greedily by score less redundancy, each with the predecessors that it refers to.

    Args:
        candidates: The candidates.
        scores: Their scores.
        tokenize: Splits a sentence into content words.
        words: Words of the selection; the best candidate is selected even if it is longer.
        redundancy: Penalty of a sentence whose content words are all in the selected ones, in units of the score.
        overrun: Words of the selection at most, relative to `words`.
        minimum: Score less redundancy of a further candidate at least, once half of the words are selected.

    Returns:
        Indices of the selected candidates, best first.
    """

    @cache
    def content(index: int) -> frozenset[str]:  # of few candidates, as most have a score too low
        return frozenset(tokenize(candidates[index].text))

    sizes = [word_count(candidate.text) for candidate in candidates]
    means = scores.tolist()
    for index, candidate in enumerate(candidates):
        if candidate.predecessor is not None:
            means[index] = float(np.mean([scores[member] for member in unit_of(candidates, index)]))
    selected: list[int] = []
    covered: set[str] = set()
    used = 0
    while True:
        best, best_score = -1, -math.inf
        for index, mean in enumerate(means):
            if mean <= best_score or index in selected:
                continue
            size = sum(sizes[member] for member in unit_of(candidates, index) if member not in selected)
            if selected and used + size > overrun * words:
                continue
            overlap = len(content(index) & covered) / max(len(content(index)), 1)
            score = mean - redundancy * overlap**2
            if score > best_score:
                best, best_score = index, score
        if best < 0 or (best_score < minimum and used >= words / 2):
            return selected
        members = [member for member in reversed(unit_of(candidates, best)) if member not in selected]
        selected += members
        used += sum(sizes[member] for member in members)
        covered = covered.union(*map(content, members))


def unit_of(candidates: Sequence[CandidateSentence], index: int) -> list[int]:
    """Return a candidate and the predecessors that it refers to."""
    unit = [index]
    while (predecessor := candidates[unit[-1]].predecessor) is not None:
        unit.append(predecessor)
    return unit
