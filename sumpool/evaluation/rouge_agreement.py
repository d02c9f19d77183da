"""How far a text, or sentences of a document, agree with other texts: ROUGE-1 F1 + ROUGE-2 F1, the mean over them.

Sentences are taken one by one, each time the one that raises the agreement most, until none does (Nallapati et al.,
2017, arXiv:1611.04230; the sum of both as in Liu and Lapata, 2019, arXiv:1908.08345). Pairs of words across two chosen
sentences are not counted, as there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

Ngram = tuple[str, ...]
Tokenize = Callable[[str], list[str]]
"""Cuts a text into the words that ROUGE compares."""


def _unigrams(words: Sequence[str]) -> Iterator[Ngram]:
    return zip(words)


_NGRAMS: tuple[Callable[[Sequence[str]], Iterator[Ngram]], ...] = (_unigrams, pairwise)


@final
class Agreement:
    """Agreement with some texts."""

    def __init__(self, texts: Sequence[str], tokenize: Tokenize) -> None:
        """Prepare.

        Args:
            texts: What to agree with, at least one.
            tokenize: Cuts a text into the words that are compared.
        """
        self._tokenize = tokenize
        words = [tokenize(text) for text in texts]
        self._wanted = [_Wanted([Counter(ngrams(text)) for text in words]) for ngrams in _NGRAMS]

    def of(self, text: str) -> float:
        """Tell how far a text agrees, from 0 to 2."""
        return sum(float(matches.f1()[0]) for matches in self._matches([text]))

    def take(self, sentences: Sequence[str], count: int) -> list[int]:
        """Find the sentences that, taken greedily, agree most.

        Args:
            sentences: The document.
            count: Most sentences to take.

        Returns:
            Their places in order; none where no sentence shares a word with the texts.
        """
        unigrams, bigrams = self._matches(sentences)
        chosen: list[int] = []
        best = 0.0
        while len(chosen) < min(count, len(sentences)):
            gains = unigrams.f1() + bigrams.f1()  # (sentences)
            gains[chosen] = 0.0
            candidate = int(gains.argmax())  # the first of equals
            if gains[candidate] <= best:
                break
            best = float(gains[candidate])
            chosen.append(candidate)
            unigrams.take(candidate)
            bigrams.take(candidate)
        return sorted(chosen)

    def _matches(self, sentences: Sequence[str]) -> list["_Matches"]:
        words = [self._tokenize(sentence) for sentence in sentences]
        return [
            _Matches([list(ngrams(sentence)) for sentence in words], wanted)
            for ngrams, wanted in zip(_NGRAMS, self._wanted, strict=True)
        ]


class _Wanted:
    """N-grams of texts: the column of each, and how often each text has it (texts, ngrams)."""

    def __init__(self, texts: Sequence[Counter[Ngram]]) -> None:
        self.column = {ngram: place for place, ngram in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
        self.counts = np.array([[text[ngram] for ngram in self.column] for text in texts], dtype=np.int32)


class _Matches:
    """N-grams of texts in each sentence of a document, and in the sentences taken so far."""

    def __init__(self, sentences: Sequence[Sequence[Ngram]], wanted: _Wanted) -> None:
        column, self.wanted = wanted.column, wanted.counts
        cells = [
            row * len(column) + column[ngram]
            for row, sentence in enumerate(sentences)
            for ngram in filter(column.__contains__, sentence)
        ]
        counts = np.bincount(np.array(cells, dtype=np.int64), minlength=len(sentences) * len(column))
        self.counts = counts.astype(np.int32).reshape(len(sentences), len(column))  # (sentences, ngrams)
        self.lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)  # (sentences)
        self.taken = np.zeros(len(column), dtype=np.int32)  # (ngrams)
        self.taken_length = 0

    def f1(self) -> NDArray[np.float64]:
        """F1, (sentences), of what is taken and one more sentence: the mean over the texts."""
        have = self.counts + self.taken  # (sentences, ngrams)
        lengths = self.lengths + self.taken_length  # (sentences)
        total = np.zeros(len(lengths))
        for wanted in self.wanted:  # 2PR / (P + R), P = hits / taken, R = hits / wanted
            total += 2 * np.minimum(have, wanted).sum(axis=1) / np.maximum(lengths + wanted.sum(), 1)
        return total / len(self.wanted)

    def take(self, sentence: int) -> None:
        """Add a sentence to what is taken."""
        self.taken += self.counts[sentence]
        self.taken_length += int(self.lengths[sentence])
