"""Baselines without training: LEAD, LexRank, and the greedy extractive oracle as an upper bound.

LexRank ranks sentences by the stationary distribution of a random walk over a graph weighted by the cosine similarity
of tf-idf vectors (Erkan and Radev, 2004, section 3.3, continuous LexRank). All similarities count, so the walk
alternates between sentences and words, and the matrix of sentences by sentences is never formed.

The oracle greedily selects the sentences with the highest ROUGE-1 + ROUGE-2 F1 against the reference.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sumpool.evaluation.rouge import Agreement
from sumpool.text.cleaning import first_words
from sumpool.text.sentences import join

_DAMPING = 0.85
"""Probability that a step of the walk follows similarity instead of jumping to any sentence."""
_ITERATIONS = 50
"""Steps of the power iteration; the remaining error is below 0.85 ** 50 = .0003."""


def lexrank(sentences: Sequence[str], words: int, tokenize: Callable[[str], list[str]]) -> str:
    """Join the most central sentences of a document in document order, truncated to a number of words.

    Args:
        sentences: Sentences of the document.
        words: Number of whitespace-separated words; a shorter document is returned whole.
        tokenize: Tokenizer of the words that are compared.
    """
    centrality = _centrality([Counter(tokenize(sentence)) for sentence in sentences])
    selected, missing = [], words
    for index in np.argsort(-centrality, kind="stable").tolist():
        if missing <= 0:
            break
        selected.append(index)
        missing -= len(sentences[index].split())
    return first_words(join([sentences[index] for index in sorted(selected)]), words)


def _centrality(sentences: Sequence[Counter[str]]) -> NDArray[np.float64]:
    """Stationary distribution (sentences,) of the walk, from the word counts of each sentence."""
    columns = {word: column for column, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
    row = np.repeat(np.arange(len(sentences)), [len(counts) for counts in sentences])
    column = np.array([columns[word] for counts in sentences for word in counts], dtype=np.int64)
    term_frequency = np.array([count for counts in sentences for count in counts.values()], dtype=np.float64)
    document_frequency = np.maximum(np.bincount(column, minlength=len(columns)), 1)
    weight = term_frequency * np.log(len(sentences) / document_frequency)[column]
    weight /= np.maximum(np.sqrt(np.bincount(row, weight**2, len(sentences))), 1e-12)[row]

    def similarity_to(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the matrix of cosine similarities by a vector (sentences,)."""
        by_word = np.bincount(column, weight * vector[row], len(columns))
        return np.bincount(row, weight * by_word[column], len(sentences)).astype(np.float64)

    degree = np.maximum(similarity_to(np.ones(len(sentences))), 1e-12)
    uniform = np.full(len(sentences), 1 / max(len(sentences), 1))
    centrality = uniform
    for _ in range(_ITERATIONS):
        centrality = (1 - _DAMPING) * uniform + _DAMPING * similarity_to(centrality / degree)
    return centrality


def oracle(sentences: Sequence[str], reference: str, count: int, tokenize: Callable[[str], list[str]]) -> str:
    """Join at most `count` sentences that a greedy search selects for their agreement with the reference.

    Returns:
        The sentences in document order; empty if no sentence shares a word with the reference.
    """
    selected = Agreement([reference], tokenize).select(sentences, count)
    return join([sentences[index] for index in selected])
