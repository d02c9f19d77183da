"""Nonlinear scorer (Pietruszka et al., appendix A): a tanh hidden layer before the linear map. O(length * dim^2).

The paper defines S(e) = tanh(e w_1 + b_1) w_2 + b_2 with w_1 a vector, which does not fit w_2; here w_1 is a matrix,
as in the classification head of RoBERTa (Liu et al., 2019), on which the paper builds. Departures: a sigmoid is
applied, as in the linear scorer, and there is no dropout.
"""

from typing import Literal, final

from torch import Tensor, nn

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class NonlinearScorerConfig(ScorerConfig):
    """The nonlinear scorer has no settings."""

    kind: Literal["nonlinear"] = "nonlinear"

    def build(self, dim: int) -> "NonlinearScorer":
        """Build the scorer."""
        return NonlinearScorer(dim)


@final
class NonlinearScorer(Scorer):
    """Score by a network of one hidden layer."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, dim)
        self.direction = nn.Linear(dim, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in (0, 1)."""
        scores: Tensor = self.direction(self.hidden(tokens.states).tanh()).squeeze(-1).sigmoid()
        return scores
