"""Selection of sentences by the n-grams that a reference summary is expected to have.

The expectation of a word, or of a pair of words, combines the share of the sampled summaries that have it with the
score of the best sentence that has it; without samples it is the score alone. Sentences are selected while the expected
F1 of ROUGE-1 and ROUGE-2 rises. An n-gram counts once however often it is selected, so that redundancy needs no
penalty, and the length of a summary follows from the expectations (coverage of weighted concepts: Gillick and Favre,
2009; Li, Qian and Liu, 2013).
"""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from sumpool.evaluation.rouge import RougeTokenizer
from sumpool.ranking.ranker import Values

_SHARE: Final = 0.4
"""Expectation of an n-gram that all samples have."""
_SCORE: Final = 0.8
"""Expectation of an n-gram per score of its best sentence."""
_ORDERS: Final = (1, 2)
"""Words of an n-gram."""
_OVERRUN: Final = 1.4
"""Words of a selection at most, relative to those of the reference where these are given."""
_MAX_SENTENCES: Final = 12
"""Sentences of a selection at most."""
_MAX_CANDIDATES: Final = 24
"""Candidates at most, half of them by their scores and half by the samples, which bounds the time of long documents."""


def select_texts(
    texts: Sequence[str], scores: Values, samples: Sequence[str], *, length: float | None = None
) -> list[int]:
    """Select candidates by their texts and those of the samples, see `select_expected`."""
    tokenize = RougeTokenizer(stemmer=True).tokenize
    # Stemming takes longer than the rest, and without samples the scores alone say which candidates are compared.
    indices = range(len(texts)) if samples else _highest(scores).tolist()
    words = [tokenize(texts[index]) for index in indices]
    selected = select_expected(words, scores[indices], [*map(tokenize, samples)], length=length)
    return [indices[index] for index in selected]


def select_expected(
    sentences: Sequence[Sequence[str]],
    scores: Values,
    samples: Sequence[Sequence[str]] = (),
    *,
    length: float | None = None,
) -> list[int]:
    """Select sentences greedily while the expected F1 of the selection rises, summed over words and pairs of words.

    Args:
        sentences: Words of each candidate, as ROUGE compares them.
        scores: Scores of the candidates, see `Ranker.score`.
        samples: Words of each sampled summary; without any, scores alone say what is expected.
        length: Words of the reference, of which a selection has at most 1.4 times as many, or one sentence; None takes
            the mean of the samples, of which there must be one, and does not limit the selection.

    Returns:
        Indices of the selected candidates, best first; empty if no n-gram is expected.
    """
    indices = _likely(sentences, scores, samples)
    near = [sentences[index] for index in indices]
    tables = [_ExpectedNgrams(order, near, scores[indices], samples, length) for order in _ORDERS]
    sizes = np.array([len(words) for words in near])
    longest = np.inf if length is None else _OVERRUN * length
    selected: list[int] = []
    best = 0.0
    while len(selected) < min(_MAX_SENTENCES, len(indices)):
        values = np.sum([table.f1(selected) for table in tables], axis=0)
        values[selected] = -np.inf
        if selected:
            values[sizes + sizes[selected].sum() > longest] = -np.inf
        index = int(values.argmax())  # the first of equals
        if values[index] <= best:
            break
        best = float(values[index])
        selected.append(index)
    return [int(indices[index]) for index in selected]


@final
class _ExpectedNgrams:
    """N-grams of one order: sentences that have them, and their expectation."""

    def __init__(
        self,
        order: int,
        sentences: Sequence[Sequence[str]],
        scores: Values,
        samples: Sequence[Sequence[str]],
        length: float | None,
    ) -> None:
        texts = [_ngrams(words, order) for words in sentences]
        sampled = [_ngrams(words, order) for words in samples]
        share = np.full(len(sampled), 1 / max(len(sampled), 1))
        columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
        self._incidence = _incidence(texts, columns)  # (sentences, ngrams)
        best = np.where(self._incidence, np.maximum(scores, 0)[:, None], 0.0).max(axis=0, initial=0.0)
        self._expected = np.minimum(_SHARE * (share @ _incidence(sampled, columns)) + _SCORE * best, 1.0)
        self._sizes = np.array([len(text) for text in texts], np.float64)
        self._length = share @ [len(text) for text in sampled] if length is None else length + 1 - order

    def f1(self, selected: Sequence[int]) -> Values:
        """Return the expected F1 of the selection plus one more sentence, (sentences,)."""
        covered = self._incidence | self._incidence[list(selected)].any(axis=0)
        sizes = self._sizes + self._sizes[list(selected)].sum()
        return np.asarray(2 * (covered @ self._expected) / np.maximum(sizes + self._length, 1.0))


def _likely(sentences: Sequence[Sequence[str]], scores: Values, samples: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the indices of the candidates with the highest scores and the highest mean share of samples, ascending."""
    if len(sentences) <= _MAX_CANDIDATES:
        return np.arange(len(sentences))
    if not samples:
        return _highest(scores)
    agreement = np.zeros(len(sentences))
    for order in _ORDERS:
        known: dict[Hashable, float] = {}
        for words in samples:
            for ngram in set(_ngrams(words, order)):
                known[ngram] = known.get(ngram, 0.0) + 1 / len(samples)
        for index, words in enumerate(sentences):
            ngrams = set(_ngrams(words, order))
            agreement[index] += sum(known.get(ngram, 0.0) for ngram in ngrams) / max(len(ngrams), 1)
    half = _MAX_CANDIDATES // 2
    best = [np.argsort(-values, kind="stable")[:half] for values in (scores, agreement)]
    return np.unique(np.concatenate(best))


def _highest(scores: Values) -> NDArray[np.int64]:
    """Return the indices of as many candidates as are compared, with the highest scores, ascending."""
    return np.sort(np.argsort(-scores, kind="stable")[:_MAX_CANDIDATES])


def _ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(order)), strict=False))


def _incidence(texts: Sequence[Sequence[Hashable]], columns: dict[tuple[str, ...], int]) -> NDArray[np.bool_]:
    incidence = np.zeros((len(texts), len(columns)), np.bool_)
    for row, text in enumerate(texts):
        incidence[row, [columns[ngram] for ngram in text if ngram in columns]] = True
    return incidence
