"""Features of sentences from summaries that a model has sampled: how much of a sentence the samples have in common."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sumpool.ranking.word_features import ranks
from sumpool.text.words import split_words, word_prefixes

_BLOCK_SENTENCES = 8192
"""Sentences that are compared at once: the counts of n-grams of a book would take a hundred times its text."""
Grams = tuple[Counter[object], Counter[object]]
"""Counts of words and of pairs of words."""


def agreement_features(sentences: Sequence[str], samples: Sequence[str], summary: str) -> NDArray[np.float32]:
    """Compare the candidates of a document with summaries sampled from a model.

    Args:
        sentences: Texts of the candidates.
        samples: The sampled summaries, at least one.
        summary: The summary with the highest probability.

    Returns:
        (candidates, features), by the names in `features.AGREEMENT_FEATURES`.
    """
    share = np.full(len(samples), 1 / len(samples))
    references, summaries = [_grams(text) for text in samples], [_grams(summary)]
    starts = range(0, max(len(sentences), 1), _BLOCK_SENTENCES)
    blocks = [_compare(sentences[start : start + _BLOCK_SENTENCES], references, summaries, share) for start in starts]
    compared = np.hstack(blocks)  # (features, candidates)
    agreement = compared[2:4].sum(axis=0)
    among, _, among_totals = _overlaps(references, references)
    pairwise_f1 = 2 * among[1] / np.maximum(among_totals[1][:, None] + among_totals[1][None], 1)
    off_diagonal = max(len(samples) * (len(samples) - 1), 1)
    columns = [
        *compared,
        ranks(agreement),
        np.full(len(sentences), agreement.max(initial=0.0)),
        np.full(len(sentences), (pairwise_f1.sum() - np.trace(pairwise_f1)) / off_diagonal),
        np.full(len(sentences), np.log1p(float(among_totals[0] @ share))),
    ]
    return np.column_stack(columns).astype(np.float32)


def _compare(
    sentences: Sequence[str], references: Sequence[Grams], summaries: Sequence[Grams], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the first eight features of sentences, which do not depend on the others: (features, sentences)."""
    texts = [_grams(text) for text in sentences]
    shared, sizes, totals = _overlaps(texts, references)
    precision = shared / np.maximum(sizes, 1)[:, :, None]  # (2, sentences, samples)
    f1 = 2 * shared / np.maximum(sizes[:, :, None] + totals[:, None, :], 1)
    summary_shared, summary_sizes, _ = _overlaps(texts, summaries)
    summary_precision = summary_shared[:, :, 0] / np.maximum(summary_sizes, 1)
    deviation = precision.sum(axis=0).std(axis=1)
    return np.stack([*(precision @ share), *(f1 @ share), f1[1].max(axis=1), deviation, *summary_precision])


def _grams(text: str) -> Grams:
    words = word_prefixes(split_words(text))
    return Counter(words), Counter(pairwise(words))


def _overlaps(
    texts: Sequence[Grams], references: Sequence[Grams]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return clipped common counts (2, texts, references), and the sizes (2, texts) and (2, references)."""
    shared = np.zeros((2, len(texts), len(references)))
    for order in range(2):
        columns = {
            gram: index for index, gram in enumerate(dict.fromkeys(g for item in references for g in item[order]))
        }
        counts = np.array([[item[order][gram] for gram in columns] for item in references], np.float64)
        for row, item in enumerate(texts):
            known = [(columns[gram], count) for gram, count in item[order].items() if gram in columns]
            if known:
                numbers, text_counts = zip(*known, strict=True)
                shared[order, row] = np.minimum(counts[:, list(numbers)], text_counts).sum(axis=1)
    sizes = [
        np.array([[sum(item[order].values()) for item in items] for order in range(2)], np.float64)
        for items in (texts, references)
    ]
    return shared, sizes[0].reshape(2, -1), sizes[1].reshape(2, -1)
