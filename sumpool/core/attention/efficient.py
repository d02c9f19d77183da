"""Efficient attention (Shen et al., 2021): linear attention that multiplies keys and values first.

With a softmax of each query over its features and of each key feature over the tokens, the product is evaluated from
the right: softmax(Q) (softmax(K)^T V). Each head stores head_dim context vectors of the whole document, and every
token mixes these: O(length * dim^2 / heads). The implied weights softmax(Q) softmax(K)^T are non-negative with rows
summing to 1; they are never materialised, and the attention received by a key is exact without them.

Departures from the released code: padding is masked before the softmax over tokens (released: no mask); the residual
sum is part of the encoder layer. As in the released code, products are not divided by the square root of head_dim.
"""

from typing import Literal, final

import torch
from torch import Tensor

from sumpool.core.attention._base import Attention, AttentionConfig, full_mask
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.numerics import at_least_float32


@final
class EfficientAttentionConfig(AttentionConfig):
    """Efficient attention has no settings."""

    kind: Literal["efficient"] = "efficient"

    def build(self, dim: int, heads: int) -> "EfficientAttention":
        """Build the attention."""
        return EfficientAttention(dim, heads)


@final
class EfficientAttention(Attention):
    """Linear attention over whole documents."""

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Attend over whole documents; see `Attention.forward`."""
        query, key, value = self._normalise(states, full_mask(states) if mask is None else mask, positions)
        context = key.to(value.dtype).transpose(2, 3) @ value  # (batch, heads, head_dim, head_dim)
        mixed: Tensor = self.out(merge_heads(query.to(value.dtype) @ context))
        return mixed

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, include_self: bool) -> Tensor:
        """Product of each key and the sum of all queries; O(length * dim) after the projections."""
        query, key, _ = self._normalise(states, mask, positions)
        query = query.masked_fill(~mask[:, None, :, None], 0.0)
        query_sum = query.sum(2, keepdim=True)  # (batch, heads, 1, head_dim)
        return (key * (query_sum if include_self else query_sum - query)).sum(3).mean(1)

    def _normalise(self, states: Tensor, mask: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Normalised queries and keys (0 at padding) and values, (batch, heads, length, head_dim) each."""
        query, key, value = self._project(states, positions)
        padding = ~mask[:, None, :, None]
        query, key = at_least_float32(query), at_least_float32(key)
        # The lowest finite value, not -inf: a document of padding only would produce NaN in the softmax.
        key = key.masked_fill(padding, torch.finfo(key.dtype).min).softmax(2).masked_fill(padding, 0.0)
        return query.softmax(3), key, value
