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
from functools import cache, lru_cache
from itertools import islice, pairwise
from types import SimpleNamespace
from typing import Literal, final, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rouge_score.tokenize import tokenize as rouge_tokenize

from sumpool.settings import Settings
from sumpool.text.sentences import SentenceSplitter

TITLES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
TYPES = tuple(TITLES)
VALIDATED = ("rouge1", "rouge2", "rougeLsum")
"""Scores that validations measure, and whose mean ranks documents."""

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
        self._stemmer = SimpleNamespace(stem=stem) if stemmer else None  # rouge-score calls its function `stem`

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


_VOWELS = frozenset("aeiou")
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_SHORT = 2
"""Letters of words that are left as they are."""
_IE_WORD = 4
"""Letters of words like "dies" and "died", whose stem keeps its e."""

Rules = Sequence[tuple[str, str]]
"""Suffixes and what replaces them; the first that a word has is the only one that counts."""
STEP_2: Rules = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"), ("logi", "log")),
)
STEP_3: Rules = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
STEP_4: Rules = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
        *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    )
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of an English word in lower case, by Porter's stemmer (1980) with the extensions of nltk.

    Stems equal those of `nltk.stem.porter.PorterStemmer`, whose import takes longer than a short document. Letters
    other than a, e, i, o, u are consonants, and so is y unless a consonant precedes it; the measure of a stem is the
    number of its runs of vowels that a consonant follows.
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= _SHORT:
        return word
    word = _without_participle(_without_plural(word))
    if word.endswith("y") and len(word) > _SHORT and _consonants(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        word = word[:-2]
    # "logi" counts its l as a part of the stem, so that "theologi" is like "archaeologi"
    word = _replace(word, STEP_2, lambda kept, suffix: _measure(kept + "l" * (suffix == "logi")) > 0)
    word = _replace(word, STEP_3, lambda kept, _: _measure(kept) > 0)
    word = _replace(word, STEP_4, lambda kept, suffix: _measure(kept) > 1 and (suffix != "ion" or kept[-1] in "st"))
    if word.endswith("e"):
        kept = word[:-1]
        measure = _measure(kept)
        word = kept if measure > 1 or (measure == 1 and not _ends_short(kept)) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _without_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == _IE_WORD else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == _IE_WORD else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        kept = word.removesuffix(suffix)
        if kept != word and "v" in _consonants(kept):
            return _completed(kept)
    return word


def _completed(kept: str) -> str:
    """Return the verb of a participle without its suffix."""
    if kept.endswith(("at", "bl", "iz")):
        return kept + "e"
    if len(kept) > 1 and kept[-1] == kept[-2] and _consonants(kept)[-1] == "c":
        return kept if kept[-1] in "lsz" else kept[:-1]
    return kept + "e" if _measure(kept) == 1 and _ends_short(kept) else kept


def _replace(word: str, rules: Rules, condition: Callable[[str, str], bool]) -> str:
    """Replace the first suffix of the rules that a word has, if a condition on stem and suffix holds."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            kept = word[: -len(suffix)]
            return kept + replacement if condition(kept, suffix) else word
    return word


def _consonants(word: str) -> str:
    """Return c for every consonant of a word, and v for every vowel."""
    letters = ""
    for letter in word:
        letters += "v" if letter in _VOWELS or (letter == "y" and letters.endswith("c")) else "c"
    return letters


def _measure(kept: str) -> int:
    return _consonants(kept).count("vc")


def _ends_short(kept: str) -> bool:
    """Return whether a stem ends with consonant, vowel and a consonant other than w, x, y, or is a vowel and one."""
    letters = _consonants(kept)
    return letters == "vc" or (letters.endswith("cvc") and kept[-1] not in "wxy")


Baseline = Literal["lead", "lexrank", "textrank", "random", "oracle"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)
"""Baselines in the order of tables."""
EqualLength = Literal["shortest", "references"]
"""Length of all summaries of a document: that of the shortest that is not empty, or of the reference."""


class EvaluationConfig(Settings):
    """ROUGE, confidence intervals and baselines."""

    tokenizer: Literal["rouge", "unicode"] = "rouge"
    """Words that are compared: `rouge` takes a-z and 0-9 as rouge-score does; `unicode` takes letters and digits of all
    scripts, and counts characters of Chinese, Japanese, Thai, Lao, Khmer and Burmese as words."""
    stemmer: bool = True
    """Whether words are stemmed with Porter's stemmer before they are compared."""
    files: Literal["text", "html", "pdf"] | None = None
    """Format of files that the documents are written to and read from before they are summarised, so that the summaries
    are those of a person's files; null summarises the texts themselves. `--files` sets it."""
    resamples: int = Field(1000, ge=100, le=100_000)
    """Resamples of the bootstrap for 95 % intervals, and of the paired tests."""
    baselines: tuple[Baseline, ...] = BASELINES
    """Baselines beside the summaries."""
    lead_words: int = Field(60, ge=1, le=1_000_000)
    """Length of the baselines LEAD, LexRank, TextRank and random sentences, in words."""
