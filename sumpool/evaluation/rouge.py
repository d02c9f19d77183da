"""ROUGE: tokenizers of its words, scores by rouge-score with a signature of all settings, and agreement of sentences.

rouge-score lower-cases the text, tokenizes into runs of a-z and 0-9, and stems words of four or more letters. ROUGE-L
compares whole texts; ROUGE-Lsum takes the union of longest common subsequences sentence by sentence, and is what papers
on long documents report. Without one sentence per line it equals ROUGE-L, so one sentence splitter puts the sentences
of every system and reference on lines.

Stems are cached, which makes rouge-score three times as fast with equal scores. A text without words of a-z and 0-9
(Chinese, Russian) scores 0 with the tokenizer of rouge-score, see `Rouge.has_words`; `UnicodeTokenizer` takes all
scripts.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray
from rouge_score.tokenize import tokenize as rouge_tokenize

from sumpool.text import porter
from sumpool.text.sentences import SentenceSplitter

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
TITLES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeLsum": "ROUGE-Lsum"}
"""Titles of the scores that validations and sweeps show."""

_SHORT_WORD = 3
"""Letters of a word that rouge-score does not stem."""
_LAST_MARK = 0x1FFFF
_SCRIPTS_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u312f\u31a0-\u31ff"  # radicals, kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # Han, half-width kana
)
Tokenize = Callable[[str], list[str]]
"""Tokenizer of the words that ROUGE compares."""


class WordTokenizer(ABC):
    """Tokenizer of the words that ROUGE compares, with the interface that rouge-score expects.

    Attributes:
        name: Definition of a word, for the signature.
    """

    name: str
    _counted: re.Pattern[str]
    """Words by which lengths are counted: separated by white space, or characters of a script without spaces."""

    def __init__(self, stemmer: bool) -> None:
        """Create a tokenizer; with `stemmer`, English words of four or more letters are stemmed by Porter's stemmer."""
        self._stemmer = porter if stemmer else None  # rouge-score calls its function `stem`

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """Split a text into normalised, stemmed words."""

    def count_words(self, text: str) -> int:
        """Return the length of a text: its whitespace-separated words, or characters of a script without spaces."""
        return len(self._counted.findall(text))

    def first_words(self, text: str, count: int) -> str:
        """Return the beginning of a text, `count` words as counted by `count_words`."""
        matches = list(islice(self._counted.finditer(text), count))
        return text[matches[0].start() : matches[-1].end()] if matches else ""


@final
class RougeTokenizer(WordTokenizer):
    """Tokenizer of rouge-score: runs of a-z and 0-9."""

    name = "a-z0-9, lower case"
    _counted = re.compile(r"\S+")

    def tokenize(self, text: str) -> list[str]:
        """Split a text into lower-case, stemmed words."""
        words: list[str] = rouge_tokenize(text, self._stemmer)
        return words


@cache
def _marks() -> str:
    """Combining marks as ranges of a character class; `re` does not count most of them as word characters."""
    marks = [code for code in range(0x300, _LAST_MARK) if unicodedata.category(chr(code))[0] == "M"]
    starts = [code for before, code in pairwise([0, *marks]) if code != before + 1]
    ends = [code for code, after in pairwise([*marks, 0]) if after != code + 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


@final
class UnicodeTokenizer(WordTokenizer):
    """Tokenizer for all scripts: runs of letters, digits and marks, and single characters of scripts without spaces.

    Words are normalised by NFKC and case folding. On ASCII text the words are those of rouge-score.
    """

    name = "Unicode letters and digits, NFKC, case-folded, Chinese, Japanese, Thai, Lao, Khmer and Burmese by character"

    def __init__(self, stemmer: bool) -> None:
        super().__init__(stemmer)
        mark, letter = f"[{_marks()}]", rf"[^\W_{_SCRIPTS_WITHOUT_SPACES}]"
        character = rf"(?![\W_])[{_SCRIPTS_WITHOUT_SPACES}]{mark}*"
        self._word = re.compile(rf"{character}|{letter}+(?:{mark}+{letter}*)*")
        self._counted = re.compile(rf"{character}[^\w\s]*|(?:(?!{character})\S)+")

    def words(self, text: str) -> list[str]:
        """Split a text into case-folded words, without stemming."""
        return [unicodedata.normalize("NFKC", word).casefold() for word in self._word.findall(text)]

    def tokenize(self, text: str) -> list[str]:
        """Split a text into case-folded words, with English words stemmed."""
        words = self.words(text)
        if self._stemmer is None:
            return words
        stem = self._stemmer.stem
        return [stem(word) if len(word) > _SHORT_WORD and word.isascii() else word for word in words]


TOKENIZERS: Mapping[str, type[WordTokenizer]] = {"rouge": RougeTokenizer, "unicode": UnicodeTokenizer}
"""Tokenizers by the names of `evaluate.tokenizer`."""


@dataclass(frozen=True)
class Score:
    """Score of a summary against its reference, from 0 to 1."""

    precision: float
    recall: float
    f1: float


class Rouge:
    """ROUGE-1, -2, -L and -Lsum.

    Args:
        stemmer: Whether words are stemmed before they are compared.
        tokenizer: Name of the tokenizer in `TOKENIZERS`.

    Attributes:
        tokenizer: Tokenizer of the words that are compared.
        signature: All settings that scores depend on, in one line.
    """

    def __init__(self, *, stemmer: bool = True, tokenizer: str = "rouge") -> None:
        from importlib.metadata import version

        from rouge_score.rouge_scorer import RougeScorer  # with nltk and scipy, which take more than a second

        self.tokenizer = TOKENIZERS[tokenizer](stemmer)
        self._split = SentenceSplitter().split
        self._scorer = RougeScorer(list(TYPES), tokenizer=self.tokenizer)
        stems = "porter (extensions of nltk)" if stemmer else "none"
        self.signature = (
            f"rouge-score {version('rouge-score')} | F1 | words:{self.tokenizer.name} | stem:{stems} | "
            "L:whole text | Lsum:sumpool's English"
        )

    def score(self, summary: str, reference: str) -> dict[str, Score]:
        """Score one summary.

        Returns:
            Scores by the names in `TYPES`; all 0 for an empty summary.
        """
        scores = self._scorer.score(self._lines(reference), self._lines(summary))
        return {name: Score(*map(float, scores[name])) for name in TYPES}

    def has_words(self, text: str) -> bool:
        """Return whether a text has any word, without which every score is 0."""
        return bool(self.tokenizer.tokenize(text))

    def _lines(self, text: str) -> str:
        return "\n".join(map(str.strip, self._split(text)))


@final
class Agreement:
    """Agreement of texts with a reference: the sum of the F1 of ROUGE-1 and ROUGE-2."""

    def __init__(self, reference: str, tokenize: Tokenize) -> None:
        """Tokenize the reference."""
        self._tokenize = tokenize
        self._reference = tokenize(reference)

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the agreement of each text, (texts,), from 0 to 2."""
        unigrams, bigrams = self._matches(texts)
        return unigrams.f1() + bigrams.f1()

    def select(self, sentences: Sequence[str], count: int) -> list[int]:
        """Greedily select at most `count` sentences that maximise the agreement.

        Returns:
            Indices in document order; empty if no sentence shares a word with the reference.
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

    def _matches(self, texts: Sequence[str]) -> tuple["_Matches", "_Matches"]:
        words = [self._tokenize(text) for text in texts]
        bigrams = _Matches([list(pairwise(text)) for text in words], list(pairwise(self._reference)))
        return _Matches(words, self._reference), bigrams


class _Matches:
    """Counts of the reference's n-grams in each sentence of a document and in the selected sentences."""

    def __init__(self, sentences: Sequence[Sequence[Hashable]], reference: Sequence[Hashable]) -> None:
        expected = Counter(reference)
        columns = {ngram: column for column, ngram in enumerate(expected)}
        cells = [
            row * len(columns) + columns[ngram]
            for row, sentence in enumerate(sentences)
            for ngram in filter(columns.__contains__, sentence)
        ]
        counts = np.bincount(np.array(cells, dtype=np.int64), minlength=len(sentences) * len(columns))
        self.reference = np.array(list(expected.values()), dtype=np.int32)  # (ngrams)
        self.counts = counts.astype(np.int32).reshape(len(sentences), len(columns))  # (sentences, ngrams)
        self.lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)  # (sentences)
        self.selected = np.zeros(len(columns), dtype=np.int32)  # (ngrams)
        self.selected_length = 0

    def f1(self) -> NDArray[np.float64]:
        """F1, (sentences), of the selected sentences plus one more."""
        hits = np.minimum(self.counts + self.selected, self.reference).sum(axis=1)
        lengths = self.lengths + self.selected_length + self.reference.sum()  # (sentences)
        return np.asarray(2 * hits / np.maximum(lengths, 1))  # 2PR / (P + R), P = hits / selected, R = hits / reference

    def select(self, sentence: int) -> None:
        """Add a sentence to the selected ones."""
        self.selected += self.counts[sentence]
        self.selected_length += int(self.lengths[sentence])
