"""Fixed-size segments (Nawrot et al., the fixed baseline of section 3), at no cost.

Tokens are counted within each document; the released code counts through the whole stream of text, so that its segments
begin anywhere in a document.
"""

from typing import Literal, final

from pydantic import Field
from torch import nn

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig, Segmentation
from sumpool.core.tokens import Tokens


@final
class FixedBoundariesConfig(BoundariesConfig):
    """Settings of fixed-size segments."""

    kind: Literal["fixed"] = "fixed"
    size: int = Field(4, ge=1, le=10_000_000)
    """Tokens per segment; the last segment of a document may be shorter."""

    def build(self, embedding: nn.Embedding) -> "FixedBoundaries":
        """Build the predictor; the embedding is not used."""
        del embedding
        return FixedBoundaries(self.size)


@final
class FixedBoundaries(Boundaries):
    """Segment ends at multiples of a fixed size."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, tokens: Tokens) -> Segmentation:
        """Mark the segment ends (batch, length)."""
        ends = (tokens.indices + 1) % self.size == 0
        return Segmentation(ends.to(tokens.states.dtype))
