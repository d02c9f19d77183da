"""ROUGE agreement with several references, and greedy selection of sentences that maximises it.

Agreement is ROUGE-1 F1 + ROUGE-2 F1, averaged over the references. Sentences are selected one by one, each time the one
that raises the agreement most, until none does (Nallapati et al., 2017, arXiv:1611.04230; the sum of both as in Liu and
Lapata, 2019, arXiv:1908.08345). Bigrams across two selected sentences are not counted, as there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

Ngram = tuple[str, ...]
Tokenize = Callable[[str], list[str]]
"""Tokenizer of the words that ROUGE compares."""


def _unigrams(words: Sequence[str]) -> Iterator[Ngram]:
    return zip(words)


_NGRAMS: tuple[Callable[[Sequence[str]], Iterator[Ngram]], ...] = (_unigrams, pairwise)


@final
class Agreement:
    """Agreement with a set of references."""

    def __init__(self, references: Sequence[str], tokenize: Tokenize) -> None:
        """Count the n-grams of the references.

        Args:
            references: Texts to agree with, at least one.
            tokenize: Tokenizer of the words that are compared.
        """
        self._tokenize = tokenize
        words = [tokenize(reference) for reference in references]
        self._references = [_ReferenceNgrams([Counter(ngrams(text)) for text in words]) for ngrams in _NGRAMS]

    def score(self, text: str) -> float:
        """Return the agreement of a text, from 0 to 2."""
        return sum(float(matches.f1()[0]) for matches in self._matches([text]))

    def select(self, sentences: Sequence[str], count: int) -> list[int]:
        """Greedily select the sentences that maximise the agreement.

        Args:
            sentences: Sentences of the document.
            count: Maximum number of sentences.

        Returns:
            Indices in document order; empty if no sentence shares a word with the references.
        """
        unigrams, bigrams = self._matches(sentences)
        selected: list[int] = []
        best = 0.0
        while len(selected) < min(count, len(sentences)):
            scores = unigrams.f1() + bigrams.f1()  # (sentences)
            scores[selected] = 0.0
            candidate = int(scores.argmax())  # the first of equals
            if scores[candidate] <= best:
                break
            best = float(scores[candidate])
            selected.append(candidate)
            unigrams.select(candidate)
            bigrams.select(candidate)
        return sorted(selected)

    def _matches(self, sentences: Sequence[str]) -> list["_Matches"]:
        words = [self._tokenize(sentence) for sentence in sentences]
        return [
            _Matches([list(ngrams(sentence)) for sentence in words], references)
            for ngrams, references in zip(_NGRAMS, self._references, strict=True)
        ]


class _ReferenceNgrams:
    """N-gram counts of the references, (references, ngrams), and the column of each n-gram."""

    def __init__(self, references: Sequence[Counter[Ngram]]) -> None:
        self.columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(chain.from_iterable(references)))}
        self.counts = np.array([[counts[ngram] for ngram in self.columns] for counts in references], dtype=np.int32)


class _Matches:
    """Counts of the references' n-grams in each sentence of a document and in the selected sentences."""

    def __init__(self, sentences: Sequence[Sequence[Ngram]], references: _ReferenceNgrams) -> None:
        columns, self.references = references.columns, references.counts
        cells = [
            row * len(columns) + columns[ngram]
            for row, sentence in enumerate(sentences)
            for ngram in filter(columns.__contains__, sentence)
        ]
        counts = np.bincount(np.array(cells, dtype=np.int64), minlength=len(sentences) * len(columns))
        self.counts = counts.astype(np.int32).reshape(len(sentences), len(columns))  # (sentences, ngrams)
        self.lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)  # (sentences)
        self.selected = np.zeros(len(columns), dtype=np.int32)  # (ngrams)
        self.selected_length = 0

    def f1(self) -> NDArray[np.float64]:
        """F1, (sentences), of the selected sentences plus one more, averaged over the references."""
        counts = self.counts + self.selected  # (sentences, ngrams)
        lengths = self.lengths + self.selected_length  # (sentences)
        total = np.zeros(len(lengths))
        for reference in self.references:  # 2PR / (P + R), P = hits / selected, R = hits / reference
            total += 2 * np.minimum(counts, reference).sum(axis=1) / np.maximum(lengths + reference.sum(), 1)
        return total / len(self.references)

    def select(self, sentence: int) -> None:
        """Add a sentence to the selected ones."""
        self.selected += self.counts[sentence]
        self.selected_length += int(self.lengths[sentence])
