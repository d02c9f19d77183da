"""Strided scorer (Pietruszka et al., appendix A, "index-based"): 1 at every k-th token, 0 at all others.

Content-independent baseline without parameters. With `every` equal to the pooler's reduction factor exactly the tokens
at a fixed stride survive, and the preceding attention layers learn to collect their surroundings.
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
    every: int = Field(4, ge=1, le=10_000_000)
    """Stride: the first of every `every` consecutive tokens scores 1."""

    def build(self, dim: int) -> "StridedScorer":
        """Build the scorer."""
        del dim
        return StridedScorer(self.every)


@final
class StridedScorer(Scorer):
    """Score by the index in the document."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length), 0 or 1."""
        return (tokens.indices % self.every == 0).to(tokens.states.dtype)
