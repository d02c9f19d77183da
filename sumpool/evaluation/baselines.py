"""What costs no training: the beginning of the document, and the best that copying sentences can reach.

The oracle sees the reference. It takes sentences one by one, each time the one that raises ROUGE-1 F1 + ROUGE-2 F1
most, and stops early when none does (Nallapati et al., 2017, arXiv:1611.04230; the sum of both as in Liu and Lapata,
2019, arXiv:1908.08345). Pairs of words across two chosen sentences are not counted, as there.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\S+")

Ngram = tuple[str, ...]


def lead(text: str, words: int) -> str:
    """Cut the beginning out of a document, its paragraphs kept.

    Args:
        text: The document.
        words: Words, separated by white space, to take; a shorter document is taken whole.
    """
    taken = list(islice(_WORD.finditer(text), words))
    return text[taken[0].start() : taken[-1].end()] if taken else ""


def lead_sentences(sentences: Sequence[str], count: int) -> str:
    """Join the first sentences of a document."""
    return _join(sentences[:count])


def oracle(sentences: Sequence[str], reference: str, count: int, tokenize: Callable[[str], list[str]]) -> str:
    """Join the sentences that, taken greedily, agree with the reference most.

    Args:
        sentences: The document.
        reference: What to agree with.
        count: Most sentences to take.
        tokenize: Cuts a text into the words that ROUGE compares.

    Returns:
        The sentences in the order of the document; empty where no sentence shares a word with the reference.
    """
    words = [tokenize(sentence) for sentence in sentences]
    unigrams = _Matches([list(zip(sentence)) for sentence in words], list(zip(tokenize(reference))))
    bigrams = _Matches([list(pairwise(sentence)) for sentence in words], list(pairwise(tokenize(reference))))
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
    return _join([sentences[place] for place in sorted(chosen)])


class _Matches:
    """N-grams of a reference in each sentence of a document, and in the sentences taken so far."""

    def __init__(self, sentences: Sequence[Sequence[Ngram]], reference: Sequence[Ngram]) -> None:
        wanted = Counter(reference)
        column = {ngram: place for place, ngram in enumerate(wanted)}
        self.wanted = np.array(list(wanted.values()), dtype=np.int32)  # (ngrams)
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
        """F1, (sentences), of what is taken and one more sentence."""
        hits = np.minimum(self.counts + self.taken, self.wanted).sum(axis=1)  # (sentences)
        total = self.lengths + self.taken_length + self.wanted.sum()  # (sentences)
        f1: NDArray[np.float64] = 2 * hits / np.maximum(total, 1)  # 2PR / (P + R), P = hits / taken, R = hits / wanted
        return f1

    def take(self, sentence: int) -> None:
        """Add a sentence to what is taken."""
        self.taken += self.counts[sentence]
        self.taken_length += int(self.lengths[sentence])


def _join(sentences: Sequence[str]) -> str:
    # A sentence that ends a paragraph keeps its line break.
    return "".join(sentence if sentence.endswith("\n") else f"{sentence} " for sentence in sentences).strip()
