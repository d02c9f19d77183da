"""Coordinate scorer (Pietruszka et al., appendix A, "embedding-based"): one fixed feature of a vector is its score.

A linear scorer whose direction is given and never learned: the layers before it learn to write the score into that
feature. No parameters. Departure: the sigmoid outside, as in the linear scorer.
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
    feature: int = Field(0, ge=0)
    """Number of the feature that is the score, counted from 0."""

    def build(self, dim: int) -> "CoordinateScorer":
        """Build the scorer.

        Raises:
            ValueError: The vectors have no such feature.
        """
        if self.feature >= dim:
            raise ValueError(f"feature must be less than model.dim = {dim}, got {self.feature}; features count from 0")
        return CoordinateScorer(self.feature)


@final
class CoordinateScorer(Scorer):
    """Scores a vector by one of its features."""

    def __init__(self, feature: int) -> None:
        super().__init__()
        self.feature = feature

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length, dim) as (batch, length), in (0, 1)."""
        return tokens.states[..., self.feature].sigmoid()
