"""Coordinate scorer (Pietruszka et al., appendix A, "embedding-based"): one fixed feature of a state is its score.

Equivalent to a linear scorer with a constant one-hot direction: the preceding layers learn to put the score into that
feature. No parameters. Departure: a sigmoid is applied, as in the linear scorer.
"""

from typing import Literal, final

from pydantic import Field
from torch import Tensor

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class CoordinateScorerConfig(ScorerConfig):
    """Settings of the coordinate scorer."""

    kind: Literal["coordinate"] = "coordinate"
    feature: int = Field(0, ge=0, le=8191)
    """Index of the feature used as the score, from 0; below `model.dim`."""

    def build(self, dim: int) -> "CoordinateScorer":
        """Build the scorer.

        Raises:
            ValueError: If `feature` is not below `dim`.
        """
        if self.feature >= dim:
            raise ValueError(f"feature must be less than model.dim = {dim}, got {self.feature}; features count from 0")
        return CoordinateScorer(self.feature)


@final
class CoordinateScorer(Scorer):
    """Score by one feature."""

    def __init__(self, feature: int) -> None:
        super().__init__()
        self.feature = feature

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in (0, 1)."""
        return tokens.states[..., self.feature].sigmoid()
