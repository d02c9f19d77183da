"""Words of sentences, the graph of sentences and words, and LexRank as a random walk on it, in numpy.

LexRank ranks sentences by the stationary distribution of a random walk over a graph weighted by the cosine similarity
of tf-idf vectors (Erkan and Radev, 2004, section 3.3, continuous LexRank). All similarities count, so the walk
alternates between sentences and words, and the matrix of sentences by sentences is never formed.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
@dataclass(frozen=True)
class SentenceWords:
    """Words of sentences, as numbers in a vocabulary: lists of words would take ten times the memory of the text.

    Attributes:
        vocabulary: The different words, by first occurrence.
        numbers: Number of each word in it, (words,).
        sizes: Words of each sentence, (sentences,).
    """

    vocabulary: Sequence[str]
    numbers: NDArray[np.int32]
    sizes: Indices

    @classmethod
    def of(cls, sentences: Iterable[Iterable[str]]) -> Self:
        """Number the words of sentences."""
        numbers, sizes = array("i"), array("q")
        vocabulary: dict[str, int] = {}
        for words in sentences:
            before = len(numbers)
            numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
            sizes.append(len(numbers) - before)
        return cls(list(vocabulary), np.frombuffer(numbers, np.int32), np.frombuffer(sizes, np.int64))

    @property
    def sentence(self) -> Indices:
        """Sentence of each word, (words,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def starts(self) -> Indices:
        """First word of each sentence, (sentences,)."""
        return np.cumsum(self.sizes) - self.sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, row: int) -> tuple[str, ...]:
        numbers = self.numbers[self.starts[row] : self.starts[row] + self.sizes[row]]
        return tuple([self.vocabulary[number] for number in numbers.tolist()])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return map(self.__getitem__, range(len(self)))

    def part(self, rows: Indices) -> "SentenceWords":
        """Return the words of some of the sentences."""
        sizes = self.sizes[rows]
        shifts = self.starts[rows] - (np.cumsum(sizes) - sizes)
        return SentenceWords(self.vocabulary, self.numbers[np.arange(sizes.sum()) + np.repeat(shifts, sizes)], sizes)

    def replaced(self, replace: Callable[[str], str]) -> "SentenceWords":
        """Return the sentences with other words, without those in whose place nothing stands."""
        vocabulary: dict[str, int] = {}
        others = [
            vocabulary.setdefault(new, len(vocabulary)) if (new := replace(old)) else -1 for old in self.vocabulary
        ]
        numbers = np.array(others, np.int32)[self.numbers]
        sizes = np.bincount(self.sentence[numbers >= 0], minlength=len(self))
        return SentenceWords(list(vocabulary), numbers[numbers >= 0], sizes)


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
    def of(cls, words: SentenceWords) -> Self:
        """Build the graph of sentences, in which words have their numbers."""
        count = len(words.vocabulary)
        cells = np.sort(words.sentence * count + words.numbers)
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        counts = np.diff(starts, append=len(cells)).astype(np.float64)
        return cls(*np.divmod(cells[starts], max(count, 1)), counts, len(words), count)

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
