"""Which of two summaries is better, and when a search has seen enough: three formulas by name.

`log p` is that of a hypothesis, its end included, p the length penalty, and `length` counts its pieces and its end, so
that with every formula a higher score is better, a penalty above 1 favours long summaries and 0 compares plain
probabilities. With early stopping a search is over when as many hypotheses as it has beams have ended. Without it
the best live one must also have no hope of beating the worst of them, and the formulas differ in what they hope for.

    sumpool       log p / length ** p, as in fairseq. A live hypothesis is credited with the length at which it would
                  score best: no log p is above 0, so that nothing is missed (early_stopping="never" of transformers).
    transformers  log p / length ** p, as in `generate` of transformers 5: an end that the longest length forces costs
                  nothing, and a live hypothesis is judged by the pieces that it has, so that a search ends sooner and
                  may miss a long summary that would have won.
    gnmt          log p / ((5 + length) / 6) ** p (Wu et al., 2016, arXiv:1609.08144, equation 14), with the hopes of
                  sumpool; less is made of a piece more or less among short summaries.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

LengthFormula = Literal["sumpool", "transformers", "gnmt"]


class Lengths(NamedTuple):
    """How many pieces a summary may have, forced first ones counted and its end not.

    Attributes:
        minimum: Fewest.
        maximum: Most.
        likely: How many the search waits for: a live hypothesis is credited with this length, and with its own from
            there on, when it is asked whether it can still beat those that ended. None credits it with `maximum`,
            which misses nothing and mostly searches to the very end. The formula of transformers does not ask for it.
    """

    minimum: int
    maximum: int
    likely: int | None = None


@final
@dataclass(frozen=True)
class Ranking:
    """How many hypotheses a search follows, how they compare and when they end.

    Attributes:
        beams: Hypotheses that each document's search follows; 1 is greedy.
        length_penalty: Exponent p of the formula, at least 0.
        length_formula: Name of the formula.
        early_stopping: Whether a search is over as soon as `beams` hypotheses have ended.
        force_end: Whether a hypothesis of the longest length must still write its end; else it ends as it stands.
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
        """Whether an end that nothing else may replace adds nothing to log p."""
        return self.length_formula == "transformers"

    def score(self, log_prob: float, length: int) -> float:
        """Score a hypothesis of this length, its end counted where it has one."""
        base = (5 + length) / 6 if self.length_formula == "gnmt" else length
        return log_prob / math.pow(base, self.length_penalty)

    def hope(self, log_prob: float, written: int, lengths: Lengths) -> float:
        """Say what a live hypothesis of this many pieces could still score."""
        if self.length_formula == "transformers":
            return self.score(log_prob, written)
        length = lengths.maximum if lengths.likely is None else max(lengths.likely, written)
        return self.score(log_prob, length + 1)
