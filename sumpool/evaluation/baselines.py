"""Baselines without training: LEAD, random sentences, LexRank, TextRank, and the greedy oracle as an upper bound.

LexRank is a random walk over sentences weighted by their similarity, see `text.word_graph`.

TextRank is the weighted PageRank of Mihalcea and Tarau (2004, sections 2.2 and 4) over the graph of sentences whose
edges weigh the number of common words over log |S_i| + log |S_j|. The denominator depends on the lengths of both
sentences only, so a step sums over words and over pairs of lengths instead of pairs of sentences.

The oracle greedily selects the sentences with the highest ROUGE-1 + ROUGE-2 F1 against the reference.
"""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sumpool.evaluation.rouge import Agreement, Tokenize, WordTokenizer
from sumpool.text.sentences import join
from sumpool.text.word_graph import WordGraph

_DAMPING = 0.85
"""Probability that a step of TextRank follows an edge instead of jumping to any sentence."""
_TOLERANCE = 1e-9
"""Largest change of a sentence's rank in a step of TextRank after which the iteration ends."""

_MAX_STEPS = 200
"""Steps of TextRank at most; 0.85 ** 128 is below the tolerance."""

Ranks = NDArray[np.float64]
"""Rank of each sentence, (sentences,): the highest are taken first."""


def take_sentences(sentences: Sequence[str], ranks: Ranks, words: int, tokenizer: WordTokenizer) -> str:
    """Join the sentences with the highest ranks in document order, truncated to a number of words.

    Args:
        sentences: Sentences of the document.
        ranks: Rank of each sentence.
        words: Number of words; a shorter document is returned whole.
        tokenizer: Counts the words.
    """
    selected, missing = [], words
    for index in np.argsort(-ranks, kind="stable").tolist():
        if missing <= 0:
            break
        selected.append(index)
        missing -= tokenizer.count_words(sentences[index])
    return tokenizer.first_words(join([sentences[index] for index in sorted(selected)]), words)


def random_ranks(id: str, sentences: int) -> Ranks:
    """Rank the sentences of a document at random, seeded by the ID of the document."""
    return np.array(random.Random(id).sample(range(sentences), sentences), dtype=np.float64)


def lexrank(sentences: Sequence[Sequence[str]]) -> Ranks:
    """Return the stationary distribution of the walk of LexRank, (sentences,), from the words of each sentence."""
    return WordGraph.of(sentences)[0].lexrank()


def textrank(sentences: Sequence[Sequence[str]]) -> Ranks:
    """Return the scores of TextRank, (sentences,), from the words of each sentence; 0.15 without a common word.

    Two sentences of one word each have no edge, since the denominator of their similarity is 0. Memory is the number of
    different sentence lengths times the number of words that two sentences share.
    """
    count = len(sentences)
    frequency = Counter(chain.from_iterable(map(set, sentences)))
    graph, _ = WordGraph.of([[word for word in sentence if frequency[word] > 1] for sentence in sentences])
    lengths, length = np.unique([len(sentence) for sentence in sentences], return_inverse=True)
    logarithms = np.log(np.maximum(lengths, 1))
    denominator = logarithms[:, None] + logarithms  # (lengths, lengths)
    weight = np.divide(1.0, denominator, out=np.zeros_like(denominator), where=denominator > 0)
    loop = np.bincount(graph.sentence, minlength=count) * weight.diagonal()[length]
    cell = length[graph.sentence] * graph.words + graph.word

    def multiply(vector: Ranks) -> Ranks:
        """Multiply the weights of the graph by a vector (sentences,)."""
        by_length = np.bincount(cell, vector[graph.sentence], len(lengths) * graph.words)
        weighted = weight @ by_length.reshape(len(lengths), graph.words)  # (lengths, words)
        return np.asarray(np.bincount(graph.sentence, weighted.ravel()[cell], count) - loop * vector)

    degree = multiply(np.ones(len(sentences)))
    inverse = np.divide(1.0, degree, out=np.zeros(len(sentences)), where=degree > 0)
    ranks = np.ones(len(sentences))
    for _ in range(_MAX_STEPS):
        previous, ranks = ranks, 1 - _DAMPING + _DAMPING * multiply(ranks * inverse)
        if np.abs(ranks - previous).max(initial=0.0) < _TOLERANCE:
            break
    return ranks


def oracle(sentences: Sequence[str], reference: str, count: int, tokenize: Tokenize) -> str:
    """Join at most `count` sentences that a greedy search selects for their agreement with the reference.

    Returns:
        The sentences in document order; empty if no sentence shares a word with the reference.
    """
    selected = Agreement(reference, tokenize).select(sentences, count)
    return join([sentences[index] for index in selected])
