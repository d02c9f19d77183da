"""Words of sentences, the graph of sentences and words, and LexRank as a random walk on it, in numpy.

LexRank ranks sentences by the stationary distribution of a random walk over a graph weighted by the cosine similarity
of tf-idf vectors (Erkan and Radev, 2004, section 3.3, continuous LexRank). All similarities count, so the walk
alternates between sentences and words, and the matrix of sentences by sentences is never formed.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Indices = NDArray[np.int64]

_DAMPING = 0.85
"""Probability that a step of the walk follows similarity instead of jumping to any sentence."""
_STEPS = 50
"""Steps of the walk; the remaining error is below 0.85 ** 50 = .0003."""


@final
class SentenceWords:
    """Words of sentences, as numbers in a vocabulary: lists of words would take ten times the memory of the text."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        numbers, ends = array("i"), array("q", [0])
        vocabulary: dict[str, int] = {}
        for words in sentences:
            numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
            ends.append(len(numbers))
        bounds = np.frombuffer(ends, np.int64)
        self._vocabulary, self._numbers = list(vocabulary), numbers
        self._starts, self._ends = bounds[:-1], bounds[1:]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, row: int) -> tuple[str, ...]:
        numbers = self._numbers[self._starts[row] : self._ends[row]]
        return tuple([self._vocabulary[number] for number in numbers])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return map(self.__getitem__, range(len(self)))

    def part(self, rows: Indices) -> "SentenceWords":
        """Return the words of some of the sentences."""
        part = SentenceWords(())
        part._vocabulary, part._numbers = self._vocabulary, self._numbers
        part._starts, part._ends = self._starts[rows], self._ends[rows]
        return part


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
    def of(cls, sentences: Iterable[Iterable[str]]) -> "tuple[Self, dict[str, int]]":
        """Build the graph of sentences, and the number of each word by first occurrence."""
        columns: dict[str, int] = {}
        numbers, sizes = array("i"), array("q")
        for sentence in sentences:
            before = len(numbers)
            numbers.extend([columns.setdefault(word, len(columns)) for word in sentence])
            sizes.append(len(numbers) - before)
        cells = np.repeat(np.arange(len(sizes)) * max(len(columns), 1), np.frombuffer(sizes, np.int64))
        cells += np.frombuffer(numbers, np.int32)
        cells.sort()
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        counts = np.diff(starts, append=len(cells)).astype(np.float64)
        sentence_of, word_of = np.divmod(cells[starts], max(len(columns), 1))
        return cls(sentence_of, word_of, counts, len(sizes), len(columns)), columns

    def among(self, members: NDArray[np.bool_]) -> "WordGraph":
        """Return the graph of some of the sentences, (sentences,), renumbered; words keep their numbers."""
        kept = members[self.sentence]
        numbers = np.cumsum(members) - 1
        sentence = numbers[self.sentence[kept]]
        return WordGraph(sentence, self.word[kept], self.count[kept], int(members.sum()), self.words)

    def sum_by_sentence(self, values: Values) -> Values:
        """Add up values of edges, (edges,), by sentence: (sentences,)."""
        return np.bincount(self.sentence, values, self.sentences).astype(np.float64)

    def lexrank(self) -> Values:
        """Return the stationary distribution of the walk of LexRank, (sentences,)."""
        count = self.sentences
        frequency = np.bincount(self.word, minlength=self.words)  # sentences that each word occurs in
        weight = self.count * np.log(count / np.maximum(frequency, 1))[self.word]
        weight /= np.maximum(np.sqrt(self.sum_by_sentence(weight**2)), 1e-12)[self.sentence]

        def similarity_to(vector: Values) -> Values:
            """Multiply the matrix of cosine similarities by a vector (sentences,)."""
            by_edge = vector[self.sentence]
            by_edge *= weight
            by_word = np.bincount(self.word, by_edge, self.words).astype(np.float64)
            by_word.take(self.word, out=by_edge, mode="clip")  # other modes allocate a buffer
            by_edge *= weight
            return self.sum_by_sentence(by_edge)

        degree = np.maximum(similarity_to(np.ones(count)), 1e-12)
        uniform = np.full(count, 1 / max(count, 1))
        centrality = uniform
        for _ in range(_STEPS):
            centrality = (1 - _DAMPING) * uniform + _DAMPING * similarity_to(centrality / degree)
        return centrality
