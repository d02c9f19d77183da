"""Neighborhood attention: every token attends to the 2 * radius + 1 tokens around it, itself included.

The radius is the largest distance (Vaswani et al., 2017, section 4; paper 5 in docs/variants.md), so that tokens near
an end of the document have fewer neighbours, as in sliding-window attention with a window of 2 * radius. In the
Neighborhood Attention Transformer of Hassani et al. (2023) they have as many as all others.
O(length * radius * dim) time, O(length * radius) memory.
"""

from typing import Literal, final

from pydantic import Field

from sumpool.core.attention._base import AttentionConfig, BandAttention


@final
class NeighborhoodAttentionConfig(AttentionConfig):
    """Settings of neighborhood attention."""

    kind: Literal["neighborhood"] = "neighborhood"
    radius: int = Field(100, ge=1, le=5_000_000)
    """Neighbours on either side of a token."""


@final
class NeighborhoodAttention(BandAttention):
    """Self-attention to the nearest tokens."""

    def __init__(self, config: NeighborhoodAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.radius)
