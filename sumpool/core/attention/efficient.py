"""Efficient attention (Shen et al., 2021): linear attention that multiplies keys and values first.

With a softmax of each query over its features and of each key feature over the tokens, the product is evaluated from
the right: softmax(Q) (softmax(K)^T V). Each head stores head_dim context vectors of the whole document, and every
token mixes these: O(length * dim^2 / heads). The implied weights softmax(Q) softmax(K)^T are non-negative with rows
summing to 1; they are never materialised.

With `local_heads`, as the models of Pietruszka et al. had two, the last heads attend within a window instead.

Departures from the released code: padding is masked before the softmax over tokens (released: no mask); the residual
sum is part of the encoder layer; local heads see the same number of tokens on either side (in the library of Pietruszka
et al. the blocks around a token). As in the released code, products are not divided by the square root of head_dim.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._base import AttentionConfig, BandAttention, Window
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import masked_softmax
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@final
class EfficientAttentionConfig(AttentionConfig):
    """Settings of efficient attention."""

    kind: Literal["efficient"] = "efficient"
    local_heads: int = Field(0, ge=0, le=128)
    """Heads that attend within a window instead; fewer than `model.heads`."""
    window: Window = 256
    """Tokens visible to a local head beside a token itself, half of them on either side; even."""


@final
class EfficientAttention(BandAttention):
    """Linear attention over whole documents, and local attention, split over the heads."""

    def __init__(self, config: EfficientAttentionConfig, dim: int, heads: int) -> None:
        if config.local_heads >= heads:
            raise ValueError(f"local_heads must be less than heads = {heads}, got {config.local_heads}; lower it")
        super().__init__(config, dim, heads, config.window // 2)
        self.linear_heads = heads - config.local_heads

    def _mix(self, tokens: Tokens) -> Tensor:
        projected = self._project(tokens)
        query, key, value = (part[:, : self.linear_heads] for part in projected)
        query, key = at_least_float32(query).softmax(3), masked_softmax(key, ~tokens.mask[:, None, :, None], 2)
        context = key.to(value.dtype).transpose(2, 3) @ value  # (batch, heads, head_dim, head_dim)
        mixed = merge_heads(query.to(value.dtype) @ context)
        if self.linear_heads < self.heads:
            query, key, value = (part[:, self.linear_heads :] for part in projected)
            mixed = torch.cat([mixed, self._attend_in_windows(query, key, value, tokens)], dim=2)
        return mixed
