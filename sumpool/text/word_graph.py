"""Graph of sentences and the words in them, and LexRank as a random walk on it, in numpy.

LexRank ranks sentences by the stationary distribution of a random walk over a graph weighted by the cosine similarity
of tf-idf vectors (Erkan and Radev, 2004, section 3.3, continuous LexRank). All similarities count, so the walk
alternates between sentences and words, and the matrix of sentences by sentences is never formed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Indices = NDArray[np.int64]

_DAMPING = 0.85
"""Probability that a step of the walk follows similarity instead of jumping to any sentence."""
_STEPS = 50
"""Steps of the walk; the remaining error is below 0.85 ** 50 = .0003."""


@dataclass(frozen=True)
class WordGraph:
    """Bipartite graph of sentences and their distinct words, as an edge list.

    Attributes:
        sentence: Sentence of each edge.
        word: Word of each edge.
        count: Occurrences of the word in the sentence.
        sentences: Number of sentences.
        words: Number of distinct words.
    """

    sentence: Indices
    word: Indices
    count: Values
    sentences: int
    words: int

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> "tuple[Self, dict[str, int]]":
        """Build the graph of sentences, and the number of each word by first occurrence."""
        columns: dict[str, int] = {}
        ids = [columns.setdefault(word, len(columns)) for sentence in sentences for word in sentence]
        rows = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
        cells, counts = np.unique(rows * max(len(columns), 1) + np.array(ids, np.int64), return_counts=True)
        sentence, word = np.divmod(cells, max(len(columns), 1))
        return cls(sentence, word, counts.astype(np.float64), len(sentences), len(columns)), columns

    def among(self, members: NDArray[np.bool_]) -> "WordGraph":
        """Return the graph of some of the sentences, (sentences,), renumbered; words keep their numbers."""
        kept = members[self.sentence]
        numbers = np.cumsum(members) - 1
        sentence = numbers[self.sentence[kept]]
        return WordGraph(sentence, self.word[kept], self.count[kept], int(members.sum()), self.words)

    def word_frequency(self) -> Values:
        """Return the number of sentences that each word occurs in, (words,)."""
        return np.bincount(self.word, minlength=self.words).astype(np.float64)

    def sum_by_sentence(self, values: Values) -> Values:
        """Add up values of edges, (edges,), by sentence: (sentences,)."""
        return np.bincount(self.sentence, values, self.sentences).astype(np.float64)

    def lexrank(self) -> Values:
        """Return the stationary distribution of the walk of LexRank, (sentences,)."""
        count = self.sentences
        weight = self.count * np.log(count / np.maximum(self.word_frequency(), 1))[self.word]
        weight /= np.maximum(np.sqrt(self.sum_by_sentence(weight**2)), 1e-12)[self.sentence]

        def similarity_to(vector: Values) -> Values:
            """Multiply the matrix of cosine similarities by a vector (sentences,)."""
            by_word = np.bincount(self.word, weight * vector[self.sentence], self.words)
            return self.sum_by_sentence(weight * by_word[self.word])

        degree = np.maximum(similarity_to(np.ones(count)), 1e-12)
        uniform = np.full(count, 1 / max(count, 1))
        centrality = uniform
        for _ in range(_STEPS):
            centrality = (1 - _DAMPING) * uniform + _DAMPING * similarity_to(centrality / degree)
        return centrality
