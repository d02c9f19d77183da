"""Labels of sentences: how much of a sentence stands in the reference summary."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sumpool.evaluation.rouge import Tokenize

_UNIGRAMS, _BIGRAMS = 0.5, 1.0
"""Weights of the precision in words and in pairs of words."""


def sentence_labels(sentences: Sequence[str], reference: str, tokenize: Tokenize) -> NDArray[np.float64]:
    """Return the label of each sentence, (sentences,), from 0 to 1.5.

    The label is half the share of the sentence's words that the reference has, plus the share of its pairs of words,
    with counts clipped at those of the reference as in ROUGE.

    Args:
        sentences: Sentences of the document.
        reference: Reference summary.
        tokenize: Tokenizer of the words that are compared.
    """
    words = tokenize(reference)
    unigrams, bigrams = Counter[object](words), Counter[object](pairwise(words))
    labels = np.zeros(len(sentences))
    for index, sentence in enumerate(sentences):
        own_words = tokenize(sentence)
        labels[index] = _UNIGRAMS * _precision(own_words, unigrams) + _BIGRAMS * _precision(
            pairwise(own_words), bigrams
        )
    return labels


def _precision(items: Iterable[object], reference: Counter[object]) -> float:
    counts = Counter(items)
    shared = sum(min(count, reference[item]) for item, count in counts.items())
    return shared / max(sum(counts.values()), 1)
