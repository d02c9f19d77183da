"""ROUGE as rouge-score computes it, with every setting said aloud.

rouge-score lower-cases a text, takes each run of a-z and 0-9 for a word and stems the words of four letters and
more. ROUGE-L compares whole texts; ROUGE-Lsum takes the union of the common subsequences sentence by sentence and
is what papers on long documents print. It equals ROUGE-L where nobody puts sentences on lines, so the lines are
made here, by one sentence splitter for every system and reference.

The stems are remembered, which makes rouge-score three times as fast and changes no figure. A text without a word
of a-z and 0-9 (Chinese, Russian) scores 0: `has_words` tells.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version

from rouge_score.tokenize import tokenize

from sumpool.text.nltk_parts import PorterStemmer, bare

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")

Split = Callable[[str], list[str]]
"""Cuts a text into its sentences."""


@dataclass(frozen=True)
class Score:
    """Agreement of a summary with its reference, each number from 0 to 1."""

    precision: float
    recall: float
    f1: float


class _RememberingStemmer:
    """Porter's stemmer with a memory of fixed size."""

    def __init__(self) -> None:
        self.stem = lru_cache(maxsize=1 << 16)(PorterStemmer().stem)


class Words:
    """The words that ROUGE compares; rouge-score takes it for its tokenizer.

    Args:
        stemmer: Whether Porter's stemmer is applied.
    """

    def __init__(self, stemmer: bool) -> None:
        self._stemmer = _RememberingStemmer() if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        """Cut a text into lower-case, stemmed words."""
        words: list[str] = tokenize(text, self._stemmer)
        return words


class Rouge:
    """Scores summaries against references.

    Args:
        stemmer: Whether words are stemmed before they are compared.
        split: The sentence splitter behind ROUGE-Lsum.
        splitter: Its name in the signature.
    """

    def __init__(self, *, stemmer: bool, split: Split, splitter: str) -> None:
        with bare("nltk", "nltk.stem"):
            from rouge_score.rouge_scorer import RougeScorer

        self.words = Words(stemmer)
        self._split = split
        self._scorer = RougeScorer(list(TYPES), tokenizer=self.words)
        stems = f"porter (nltk {version('nltk')})" if stemmer else "none"
        self.signature = (
            f"rouge-score {version('rouge-score')} | F1 | words:a-z0-9, lower case | stem:{stems} | "
            f"L:whole text | Lsum:{splitter}"
        )

    def score(self, summary: str, reference: str) -> dict[str, Score]:
        """Score one summary.

        Returns:
            ROUGE-1, -2, -L and -Lsum under the names of `TYPES`; all 0 for an empty summary.
        """
        found = self._scorer.score(self._lines(reference), self._lines(summary))
        return {name: Score(*map(float, found[name])) for name in TYPES}

    def has_words(self, text: str) -> bool:
        """Tell whether a text has a word that ROUGE can see."""
        return bool(self.words.tokenize(text))

    def _lines(self, text: str) -> str:
        # A line break inside a sentence would count as the end of one.
        return "\n".join(" ".join(sentence.split()) for sentence in self._split(text))
