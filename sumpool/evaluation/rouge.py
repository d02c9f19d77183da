"""ROUGE scores by rouge-score, with a signature of all settings.

rouge-score lower-cases the text, tokenizes into runs of a-z and 0-9, and stems words of four or more letters. ROUGE-L
compares whole texts; ROUGE-Lsum takes the union of longest common subsequences sentence by sentence, and is what papers
on long documents report. Without one sentence per line it equals ROUGE-L, so one sentence splitter puts the sentences
of every system and reference on lines.

Stems are cached, which makes rouge-score three times as fast with equal scores. A text without words of a-z and 0-9
(Chinese, Russian) scores 0; see `Rouge.has_words`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import chain, pairwise
from typing import final

import numpy as np
from nltk.stem.porter import PorterStemmer
from numpy.typing import NDArray
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenize import tokenize

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")

Split = Callable[[str], list[str]]
"""Sentence splitter."""


@dataclass(frozen=True)
class Score:
    """Score of a summary against its reference, from 0 to 1."""

    precision: float
    recall: float
    f1: float


class RougeTokenizer:
    """Tokenizer of the words that ROUGE compares, with the interface that rouge-score expects."""

    def __init__(self, stemmer: bool) -> None:
        self._stemmer = PorterStemmer() if stemmer else None
        if self._stemmer:
            self._stemmer.stem = lru_cache(maxsize=1 << 16)(self._stemmer.stem)

    def tokenize(self, text: str) -> list[str]:
        """Split a text into lower-case, stemmed words."""
        words: list[str] = tokenize(text, self._stemmer)
        return words


class Rouge:
    """ROUGE-1, -2, -L and -Lsum.

    Args:
        stemmer: Whether words are stemmed before they are compared.
        split: Sentence splitter for ROUGE-Lsum.
        splitter: Name of the splitter in the signature.

    Attributes:
        tokenizer: Tokenizer of the words that are compared.
        signature: All settings that scores depend on, in one line.
    """

    def __init__(self, *, stemmer: bool, split: Split, splitter: str) -> None:
        self.tokenizer = RougeTokenizer(stemmer)
        self._split = split
        self._scorer = RougeScorer(list(TYPES), tokenizer=self.tokenizer)
        stems = f"porter (nltk {version('nltk')})" if stemmer else "none"
        self.signature = (
            f"rouge-score {version('rouge-score')} | F1 | words:a-z0-9, lower case | stem:{stems} | "
            f"L:whole text | Lsum:{splitter}"
        )

    def score(self, summary: str, reference: str) -> dict[str, Score]:
        """Score one summary.

        Returns:
            Scores by the names in `TYPES`; all 0 for an empty summary.
        """
        scores = self._scorer.score(self._lines(reference), self._lines(summary))
        return {name: Score(*map(float, scores[name])) for name in TYPES}

    def has_words(self, text: str) -> bool:
        """Return whether a text has any word of a-z and 0-9, without which every score is 0."""
        return bool(self.tokenizer.tokenize(text))

    def _lines(self, text: str) -> str:
        # A line break inside a sentence would count as the end of the sentence.
        return "\n".join(" ".join(sentence.split()) for sentence in self._split(text))


Ngram = tuple[str, ...]
Tokenize = Callable[[str], list[str]]
"""Tokenizer of the words that ROUGE compares."""


_NGRAMS: tuple[Callable[[Sequence[str]], Iterator[Ngram]], ...] = (zip, pairwise)


@final
class Agreement:
    """Agreement with a set of references."""

    def __init__(self, references: Sequence[str], tokenize: Tokenize) -> None:
        """Count the n-grams of the references, at least one."""
        self._tokenize = tokenize
        words = [tokenize(reference) for reference in references]
        self._references = [_ReferenceNgrams([Counter(ngrams(text)) for text in words]) for ngrams in _NGRAMS]

    def score(self, text: str) -> float:
        """Return the agreement of a text, from 0 to 2."""
        return sum(float(matches.f1()[0]) for matches in self._matches([text]))

    def select(self, sentences: Sequence[str], count: int) -> list[int]:
        """Greedily select at most `count` sentences that maximise the agreement.

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
