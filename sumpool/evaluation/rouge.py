"""ROUGE scores by rouge-score, with a signature of all settings.

rouge-score lower-cases the text, tokenizes into runs of a-z and 0-9, and stems words of four or more letters. ROUGE-L
compares whole texts; ROUGE-Lsum takes the union of longest common subsequences sentence by sentence, and is what papers
on long documents report. Without one sentence per line it equals ROUGE-L, so one sentence splitter puts the sentences
of every system and reference on lines.

Stems are cached, which makes rouge-score three times as fast with equal scores. A text without words of a-z and 0-9
(Chinese, Russian) scores 0 with the tokenizer of rouge-score, see `Rouge.has_words`; `UnicodeTokenizer` takes all
scripts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from sumpool.evaluation.agreement import TOKENIZERS

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")

Split = Callable[[str], list[str]]
"""Sentence splitter."""


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
        split: Sentence splitter for ROUGE-Lsum.
        splitter: Name of the splitter in the signature.
        tokenizer: Name of the tokenizer in `TOKENIZERS`.

    Attributes:
        tokenizer: Tokenizer of the words that are compared.
        signature: All settings that scores depend on, in one line.
    """

    def __init__(self, *, stemmer: bool, split: Split, splitter: str, tokenizer: str = "rouge") -> None:
        from rouge_score.rouge_scorer import RougeScorer  # with nltk and scipy, which take more than a second

        self.tokenizer = TOKENIZERS[tokenizer](stemmer)
        self._split = split
        self._scorer = RougeScorer(list(TYPES), tokenizer=self.tokenizer)
        stems = "porter (extensions of nltk)" if stemmer else "none"
        self.signature = (
            f"rouge-score {version('rouge-score')} | F1 | words:{self.tokenizer.name} | stem:{stems} | "
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
        """Return whether a text has any word, without which every score is 0."""
        return bool(self.tokenizer.tokenize(text))

    def _lines(self, text: str) -> str:
        # A line break inside a sentence would count as the end of the sentence.
        return "\n".join(" ".join(sentence.split()) for sentence in self._split(text))
