"""Cue words: a weight per word, fitted to the labels of sentences instead of listed.

The cues of a sentence are its words and pairs of neighbours, and its first words marked as such ("^this", "^in this").
The cues of a section are the words of its heading. A sentence's cue score is the sum of its cues' weights over the
square root of their number.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_OPENING = 3
"""First words of a sentence that are marked."""
_STEPS = 40
"""Steps of the conjugate-gradient method."""
START: Final = "^"
"""Mark of the first words of a sentence."""


def sentence_cues(words: Sequence[str]) -> set[str]:
    """Return the cues of a sentence."""
    opening = [START + " ".join(words[:size]) for size in range(1, min(_OPENING, len(words)) + 1)]
    return {*words, *map(" ".join, pairwise(words)), *opening}


def cue_scores(weights: Mapping[str, float], sentences: Iterable[Sequence[str]]) -> Values:
    """Return the cue score of each sentence, (sentences,).

    Args:
        weights: Weight of each cue.
        sentences: Words of each sentence; those of a heading are scored in the same way.
    """
    known = ([weights[cue] for cue in sorted(sentence_cues(words)) if cue in weights] for words in sentences)
    return np.fromiter((sum(values) / len(values) ** 0.5 if values else 0.0 for values in known), np.float64)


def frequent_cues(
    documents: Sequence[Iterable[Sequence[str]]], groups: Sequence[str], *, minimum: int, maximum: int
) -> list[str]:
    """Return the cues that occur in many documents of all groups.

    Args:
        documents: Words of the sentences of each document.
        groups: Kind of each document; a cue is as frequent as in the kind where it is second most frequent, so that
            the words of one subject are none.
        minimum: Documents of a kind that a cue occurs in at least, in the two kinds where it is most frequent.
        maximum: Cues at most.
    """
    counts = {group: Counter[str]() for group in sorted(set(groups))}
    for sentences, group in zip(documents, groups, strict=True):
        counts[group].update(set(chain.from_iterable(map(sentence_cues, sentences))))
    sizes = Counter(groups)
    shares: dict[str, float] = {}
    place = min(len(counts), 2) - 1
    for cue in set(chain.from_iterable(counts.values())):
        values = sorted(((counts[group][cue], group) for group in counts), reverse=True)
        count, group = values[place]
        if count >= minimum:
            shares[cue] = count / sizes[group]
    return sorted(shares, key=lambda cue: (-shares[cue], cue))[:maximum]


def fit_cues(
    cues: Sequence[str], sentences: Sequence[Sequence[str]], targets: Values, weights: Values, ridge: float
) -> dict[str, float]:
    """Fit the weights of cues by weighted ridge regression.

    Args:
        cues: The cues.
        sentences: Words of each sentence.
        targets: Target of each sentence, (sentences,).
        weights: Weight of each sentence, (sentences,), with mean 1.
        ridge: Penalty of squared weights.
    """
    columns = {cue: column for column, cue in enumerate(cues)}
    rows, numbers, values = _entries(columns, sentences)

    def multiply(vector: Values) -> Values:
        return np.bincount(rows, values * vector[numbers], len(sentences)).astype(np.float64)

    def transpose(vector: Values) -> Values:
        return np.bincount(numbers, values * vector[rows], len(cues)).astype(np.float64)

    centred = targets - np.average(targets, weights=weights) if len(targets) else targets
    solution = _conjugate_gradient(
        lambda vector: transpose(weights * multiply(vector)) + ridge * vector, transpose(weights * centred)
    )
    return {cue: float(weight) for cue, weight in zip(cues, np.round(solution, 5), strict=True) if weight}


def _entries(
    columns: Mapping[str, int], sentences: Sequence[Sequence[str]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Values]:
    """Return row, column and value of the non-zero entries of the matrix of sentences by cues."""
    known = [sorted(columns[cue] for cue in sentence_cues(words) if cue in columns) for words in sentences]
    sizes = np.array([len(numbers) for numbers in known], np.int64)
    rows = np.repeat(np.arange(len(known)), sizes)
    numbers = np.fromiter(chain.from_iterable(known), np.int64, int(sizes.sum()))
    return rows, numbers, 1.0 / np.sqrt(sizes[rows])


def _conjugate_gradient(multiply: Callable[[Values], Values], right: Values) -> Values:
    """Solve a positive definite system, given the multiplication by its matrix."""
    solution = np.zeros_like(right)
    residual = direction = right
    norm = float(right @ right)
    for _ in range(_STEPS):
        if norm <= 1e-12:
            break
        image = multiply(direction)
        step = norm / float(direction @ image)
        solution = solution + step * direction
        residual = residual - step * image
        previous, norm = norm, float(residual @ residual)
        direction = residual + norm / previous * direction
    return solution
