"""Full self-attention (Vaswani et al., 2017): every token attends to every token, O(length^2 * dim)."""

from typing import Literal, final

from sumpool.core.attention._base import AttentionConfig, SoftmaxAttention
from sumpool.core.nn.positions import PositionsKind


@final
class VanillaAttentionConfig(AttentionConfig):
    """Settings of full self-attention."""

    kind: Literal["vanilla"] = "vanilla"
    positions: PositionsKind = "none"
    """Position encoding inside the attention: rotary rotates queries and keys, relative adds a learned bias per
    distance, none relies on the positions added to the embeddings."""


@final
class VanillaAttention(SoftmaxAttention):
    """Full self-attention."""
