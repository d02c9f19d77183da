"""Full self-attention (Vaswani et al., 2017): every token attends to every token, O(length^2 * dim)."""

from functools import partial
from typing import Literal, final

from torch import Tensor

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend, attention_received
from sumpool.core.nn.positions import PositionsKind


@final
class VanillaAttentionConfig(AttentionConfig):
    """Settings of full self-attention."""

    kind: Literal["vanilla"] = "vanilla"
    positions: PositionsKind = "none"
    """Position encoding inside the attention: rotary rotates queries and keys, relative adds a learned bias per
    distance, none relies on the positions added to the embeddings."""

    def build(self, dim: int, heads: int) -> "VanillaAttention":
        """Build the attention."""
        return VanillaAttention(dim, heads, self.positions)


@final
class VanillaAttention(Attention):
    """Full self-attention."""

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Attend over whole documents; see `Attention.forward`."""
        query, key, value = self._project(states, positions)
        mixed: Tensor = self.out(merge_heads(attend(query, key, value, mask, self.positions.bias(positions))))
        return mixed

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, include_self: bool) -> Tensor:
        """Recompute the weights, which the fused kernel does not return: O(length^2 * dim) again."""
        query, key, _ = self._project(states, positions)
        return attention_received(query, key, mask, include_self, partial(self.positions.bias, positions))
