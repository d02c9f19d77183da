"""Candidates of a summary, and their selection by score less redundancy, within a budget of words."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import ENGLISH, content_prefixes, split_words, word_count
from sumpool.text.prose import PROSE_KINDS

if TYPE_CHECKING:
    from sumpool.core.decoding.config import LengthTarget

_REDUNDANCY: Final = 0.2
"""Penalty of a sentence whose content words are all in the selected ones, on the scale of marks."""
_MIN_WORDS = 4
"""Words of a candidate."""
OVERRUN: Final = 1.1
"""Words of a selection at most, relative to the budget."""

_USUAL_WORDS = ((1_000, 60), (2_600, 100), (20_000, 100), (160_000, 250))
"""Words of documents, and of their summaries: further sentences of a paper are details to readers, those of a book are
other chapters."""
_MAX_CELLS = 10_000_000
"""Numbers that are stored at most to find the selection of the closest length."""
_PAIRED_CANDIDATES = 40
"""Candidates of the first sentence of a pair that replaces one."""


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
    minimum: float = -math.inf,
    most_overlap: float = 1.0,
) -> list[int]:
    """Select candidates greedily by score less redundancy, until the budget is filled.

    Args:
        texts: Texts of the candidates.
        scores: Their scores, (candidates,).
        words: Words of the selection; the best candidate is selected even if it is longer.
        language: Code of their language.
        minimum: Score less redundancy of a further candidate at least, once half of the words are selected.
        most_overlap: Share of its content words at most that are in the selected ones.

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
            score = float(scores[index]) - _REDUNDANCY * overlap**2
            if score > best_score and overlap <= most_overlap:
                best, best_score = index, score
        if best < 0 or (best_score < minimum and used >= words / 2):
            return selected
        selected.append(best)
        used += sizes[best]
        covered |= content(best)


def usual_words(document_words: int) -> int:
    """Return the usual words of a summary by the words of its document, linear in their logarithm between points.

    A page has 60, a paper 100; from 20,000 words on, each doubling adds 50, up to 250 for a book.
    """
    logarithms, words = np.log([size for size, _ in _USUAL_WORDS]), [words for _, words in _USUAL_WORDS]
    return round(float(np.interp(np.log(max(document_words, 1)), logarithms, words)))


def adjust_length(
    selected: Sequence[int], sentences: Sequence[str], scores: NDArray[np.float64], target: "LengthTarget"
) -> list[int]:
    """Adjust a selection to the length of a target.

    The last sentences are removed from one that is too long. Others are added by their scores to one that is too short.
    If none fits any more, a selected one, the last first, is replaced by one or two others; at last any selection is
    taken whose length comes closest.

    Args:
        selected: Indices of the selected sentences, the best first.
        sentences: All sentences.
        scores: Their scores, (sentences,).
        target: The length.

    Returns:
        Indices in document order; all sentences if they are too few or exactly enough, the shortest one if each is too
        long.
    """
    counts = _counts(sentences, target)
    if counts.sum() <= target.maximum:
        return list(range(len(sentences)))
    kept = list(selected)
    while counts[kept].sum() > target.maximum:
        kept.pop()
    for candidate in np.argsort(-scores, kind="stable").tolist():
        total = counts[kept].sum()
        if total >= target.minimum:
            break
        if candidate not in kept and total + counts[candidate] <= target.maximum:
            kept.append(candidate)
    if counts[kept].sum() < target.minimum:
        kept = _exchange(scores, counts, kept, target) or _closest(scores, counts, target) or kept
    return sorted(kept) or [int(counts.argmin())]


def _counts(sentences: Sequence[str], target: "LengthTarget") -> NDArray[np.int64]:
    """Words of each sentence, or 1 if sentences are counted."""
    return np.array([1 if target.in_sentences else word_count(sentence) for sentence in sentences], dtype=np.int64)


def _exchange(
    scores: NDArray[np.float64], counts: NDArray[np.int64], selected: Sequence[int], target: "LengthTarget"
) -> list[int]:
    """Replace one selected sentence by one or two others so that the length is met; empty if none can be."""
    others = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in selected]
    singles: list[list[int]] = [[]]
    for beside in (singles, [[index] for index in others[:_PAIRED_CANDIDATES]]):
        for removed in reversed(selected):
            kept = [index for index in selected if index != removed]
            for first in beside:
                total = counts[[*kept, *first]].sum()
                for second in others:
                    if target.minimum <= total + counts[second] <= target.maximum and second not in first:
                        return [*kept, *first, second]
    return []


def _closest(scores: NDArray[np.float64], counts: NDArray[np.int64], target: "LengthTarget") -> list[int]:
    """Return the selection with the highest sum of scores among those whose length is closest to the target.

    Documents for which this takes much memory get an empty selection.
    """
    room = target.maximum + target.amount
    if room * len(counts) > _MAX_CELLS:
        return []
    best = np.full(room + 1, -np.inf)  # by length
    best[0] = 0.0
    steps = [best]
    for score, count in zip(scores, counts.tolist(), strict=True):
        longer = np.full_like(best, -np.inf)
        if count <= room:
            longer[count:] = best[: room + 1 - count] + score
        best = np.maximum(best, longer)
        steps.append(best)
    reachable = np.flatnonzero(best > -np.inf)
    distance = np.abs(reachable - target.amount)
    distance[(reachable >= target.minimum) & (reachable <= target.maximum)] = 0
    nearest = reachable[distance == distance.min()]
    length = int(nearest[best[nearest].argmax()])
    selected = []
    for index, (before, after) in reversed(list(enumerate(pairwise(steps)))):
        if after[length] > before[length]:
            selected.append(index)
            length -= int(counts[index])
    return selected
