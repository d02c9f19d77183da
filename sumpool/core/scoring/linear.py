"""Linear scorer (Pietruszka et al., section 3): one learned direction says how much a vector is worth keeping.

The released code squeezes the linear map through a sigmoid, which the paper does not mention and the peaked softmax
of its tournament cannot do without; so do we.
"""

from typing import Literal, final

from torch import Tensor, nn

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class LinearScorerConfig(ScorerConfig):
    """No settings."""

    kind: Literal["linear"] = "linear"

    def build(self, dim: int) -> "LinearScorer":
        """Build the scorer."""
        return LinearScorer(dim)


@final
class LinearScorer(Scorer):
    """Scores a vector by its share of one learned direction."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.direction = nn.Linear(dim, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length, dim) as (batch, length), in (0, 1)."""
        scores: Tensor = self.direction(tokens.states).squeeze(-1).sigmoid()
        return scores
