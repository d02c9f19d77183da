"""Nonlinear scorer (Pietruszka et al., appendix A): a hidden layer with tanh before the linear map.

The paper gives S(e) = tanh(e w_1 + b_1) w_2 + b_2 with w_1 a vector, which does not fit w_2; as in the classification
head of RoBERTa (Liu et al., 2019) that it follows, w_1 is a matrix here. Cost: O(length * dim^2), as much as one
projection of an attention. Departures: the sigmoid outside, as in the linear scorer, and no dropout inside.
"""

from typing import Literal, final

from torch import Tensor, nn

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class NonlinearScorerConfig(ScorerConfig):
    """No settings."""

    kind: Literal["nonlinear"] = "nonlinear"

    def build(self, dim: int) -> "NonlinearScorer":
        """Build the scorer."""
        return NonlinearScorer(dim)


@final
class NonlinearScorer(Scorer):
    """Scores a vector by what a small network makes of it."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, dim)
        self.direction = nn.Linear(dim, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length, dim) as (batch, length), in (0, 1)."""
        scores: Tensor = self.direction(self.hidden(tokens.states).tanh()).squeeze(-1).sigmoid()
        return scores
