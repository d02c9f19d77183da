"""Scores of hypotheses and stopping criteria: three length formulas.

`log p` is the log-probability of a hypothesis, EOS included, p the length penalty, and `length` the number of tokens,
EOS included: with every formula a higher score is better, a penalty above 1 favours long summaries and 0 compares plain
probabilities. With early stopping a search ends when as many hypotheses as beams have finished. Without it, the score
that the best unfinished hypothesis can attain must also be at most that of the worst finished one; the formulas differ
in this bound.

    sumpool       log p / length ** p, as in fairseq. The bound assumes the length with the best score: since log p
                  cannot rise, no better summary is missed (early_stopping="never" of transformers).
    transformers  log p / length ** p, as in `generate` of transformers 5: a forced EOS has probability 1, and the bound
                  assumes the current length, so that a search ends sooner and may miss a better long summary.
    gnmt          log p / ((5 + length) / 6) ** p (Wu et al., 2016, arXiv:1609.08144, equation 14), with the bound of
                  sumpool; differences in length matter less among short summaries.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

LengthFormula = Literal["sumpool", "transformers", "gnmt"]


@dataclass(frozen=True)
class Hypothesis:
    """A finished summary.

    Attributes:
        tokens: Token ids, the prefix included, without BOS and EOS.
        score: Score by the length formula; higher is better.
        log_prob: sum(log p), in nats, EOS included and the prefix excluded.
    """

    tokens: tuple[int, ...]
    score: float
    log_prob: float


_TOLERANCE = 0.1
"""Tolerance of a number of words."""
_WORDS_PER_SENTENCE = 25


@dataclass(frozen=True)
class LengthTarget:
    """Length that the summary of a document is to have.

    Attributes:
        amount: Number of words or sentences, at least 1.
        in_sentences: Whether sentences are counted instead of words.
        tokens: Tokens that a written summary of this length is expected to have.
    """

    amount: int
    in_sentences: bool
    tokens: int

    @property
    def minimum(self) -> int:
        """Least words or sentences."""
        return self.amount if self.in_sentences else math.ceil(round((1 - _TOLERANCE) * self.amount, 6))

    @property
    def maximum(self) -> int:
        """Most words or sentences."""
        return self.amount if self.in_sentences else math.floor(round((1 + _TOLERANCE) * self.amount, 6))

    @property
    def words(self) -> int:
        """Number of words, estimated for sentences."""
        return _WORDS_PER_SENTENCE * self.amount if self.in_sentences else self.amount

    def __str__(self) -> str:
        unit = "sentence" if self.in_sentences else "word"
        return f"{self.amount:,} {unit}{'s' if self.amount > 1 else ''}"


class Lengths(NamedTuple):
    """Bounds on the tokens of a summary, its prefix included and EOS excluded.

    Attributes:
        minimum: Minimum length.
        maximum: Maximum length.
        expected: Length that the stopping criterion assumes for shorter unfinished hypotheses. None assumes `maximum`,
            which misses no better summary and mostly searches to the maximum. Ignored by the formula of transformers.
    """

    minimum: int
    maximum: int
    expected: int | None = None

    def clip(self, longest: int) -> "Lengths":
        """Return the bounds within a longest length."""
        expected = None if self.expected is None else min(self.expected, longest)
        return Lengths(min(self.minimum, longest), min(self.maximum, longest), expected)


@final
@dataclass(frozen=True)
class Ranking:
    """Scoring of hypotheses and stopping criterion of a search.

    Attributes:
        beams: Hypotheses per document; 1 is greedy search.
        length_penalty: Exponent p of the formula, at least 0.
        length_formula: Name of the formula.
        early_stopping: Whether a search ends as soon as `beams` hypotheses have finished.
        force_end: Whether hypotheses of the maximum length must end with EOS; else they are cut.
    """

    beams: int
    length_penalty: float = 1.0
    length_formula: LengthFormula = "sumpool"
    early_stopping: bool = False
    force_end: bool = True

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise ValueError(f"beams must be at least 1, got {self.beams}")
        if self.length_penalty < 0:
            raise ValueError(f"length_penalty must be at least 0, got {self.length_penalty}")

    @property
    def forced_end_is_free(self) -> bool:
        """Whether a forced EOS adds nothing to log p."""
        return self.length_formula == "transformers"

    def score(self, log_prob: float, length: int) -> float:
        """Return the score of a hypothesis of this length, EOS included."""
        return log_prob / self.divisor(length)

    def divisor(self, length: int) -> float:
        """Return what log p of a hypothesis of this length, EOS included, is divided by."""
        base = (5 + length) / 6 if self.length_formula == "gnmt" else length
        return math.pow(base, self.length_penalty)

    def attainable_score(self, log_prob: float, tokens: int, lengths: Lengths) -> float:
        """Return the highest score that an unfinished hypothesis with this many tokens is assumed to attain."""
        if self.length_formula == "transformers":
            return self.score(log_prob, tokens)
        length = lengths.maximum if lengths.expected is None else max(lengths.expected, tokens)
        return self.score(log_prob, length + 1)
