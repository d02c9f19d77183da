"""Linear scorer (Pietruszka et al., section 3): the sigmoid of one learned linear map. O(length * dim).

The sigmoid follows the released code: the paper does not mention it, but the tournament's peaked softmax needs bounded
scores.
"""

from typing import Literal, final

from torch import Tensor, nn

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class LinearScorerConfig(ScorerConfig):
    """The linear scorer has no settings."""

    kind: Literal["linear"] = "linear"

    def build(self, dim: int) -> "LinearScorer":
        """Build the scorer."""
        return LinearScorer(dim)


@final
class LinearScorer(Scorer):
    """Score by one learned direction."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.direction = nn.Linear(dim, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in (0, 1)."""
        scores: Tensor = self.direction(tokens.states).squeeze(-1).sigmoid()
        return scores
