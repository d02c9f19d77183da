"""Strided scorer (Pietruszka et al., appendix A, "index-based"): 1 at every so many vectors, 0 at the others.

A baseline that looks at nothing. With `every` equal to the share that a pooler leaves, exactly the vectors at a fixed
stride survive, and the attentions before learn to write into each what stands around it. No parameters.
"""

from typing import Literal, final

from pydantic import Field
from torch import Tensor

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class StridedScorerConfig(ScorerConfig):
    """Settings of the strided scorer."""

    kind: Literal["strided"] = "strided"
    every: int = Field(4, ge=1)
    """Of so many vectors in a row the first scores 1."""

    def build(self, dim: int) -> "StridedScorer":
        """Build the scorer."""
        del dim
        return StridedScorer(self.every)


@final
class StridedScorer(Scorer):
    """Scores a vector by its number in the document."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length, dim) as (batch, length), 0 or 1."""
        return (tokens.indices % self.every == 0).to(tokens.states.dtype)
