"""Efficient attention (Shen et al., 2021): keys and values are summed up first, then every query reads the sum.

With queries normalised by a softmax over their features and keys by one over the tokens of the document, the product
may be taken from the right: softmax(Q) (softmax(K)^T V). A head keeps head_dim templates of the whole document, and
each token mixes them: O(length * dim^2 / heads). The weights that this implies, softmax(Q) softmax(K)^T, are not
negative and their rows sum to one; they are never written out, and the mass of a key is exact without them.

Departures from the released code: padding is out before the softmax over tokens (there, nothing is masked); the
residual sum stands in the encoder's layer. As there, nothing is divided by the root of head_dim.
"""

from typing import Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention, AttentionConfig, all_real
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.numerics import at_least_float32


@final
class EfficientAttentionConfig(AttentionConfig):
    """No settings."""

    kind: Literal["efficient"] = "efficient"

    def build(self, dim: int, heads: int) -> "EfficientAttention":
        """Build the layer."""
        return EfficientAttention(dim, heads)


@final
class EfficientAttention(Attention):
    """Every token sees every other through a few templates of the document."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim); see `Attention.forward`."""
        del positions
        query, key, value = self._project(states, all_real(states) if mask is None else mask)
        templates = key.to(value.dtype).transpose(2, 3) @ value  # (batch, heads, head_dim, head_dim)
        mixed: Tensor = self.out(merge_heads(query.to(value.dtype) @ templates))
        return mixed

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets: its key times the sum of all queries; O(length * dim) after the projections."""
        del positions
        query, key, _ = self._project(states, mask)
        query = query.masked_fill(~mask[:, None, :, None], 0.0)
        asked = query.sum(2, keepdim=True)  # (batch, heads, 1, head_dim)
        return (key * (asked if itself else asked - query)).sum(3).mean(1)

    def _project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys (0 at padding) and values, (batch, heads, length, head_dim) each."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        padding = ~mask[:, None, :, None]
        query, key = at_least_float32(query), at_least_float32(key)
        # The least finite number, not -inf: a document of padding only must not become NaN on its way to zero.
        key = key.masked_fill(padding, torch.finfo(key.dtype).min).softmax(2).masked_fill(padding, 0.0)
        return query.softmax(3), key, value
