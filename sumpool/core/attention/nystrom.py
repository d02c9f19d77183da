"""Nystromformer attention (Xiong et al., 2021): the softmax weights from those of a few landmarks.

Queries and keys are averaged over `landmarks` segments of the document, and softmax(Q K^T) is approximated by
softmax(Q k^T) softmax(q k^T)^+ softmax(q K^T) for landmarks q and k, with an iterative pseudo-inverse:
O(length * landmarks * dim). A depthwise convolution of the values over the tokens is added (`kernel`).

Segments divide the real tokens of each document into parts whose lengths differ by at most one, so that any length
works, and a document with fewer tokens than landmarks has one for each token. Departures from the released code: it
pads documents to a multiple of the landmarks and averages padding in; its iteration starts from the largest column sum
over the whole batch by default, so that documents change each other, here from that of the same matrix.
"""

from typing import Literal, final

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.low_rank import iterate_pseudo_inverse
from sumpool.core.nn.masking import attend, attention_weights, zero_padding
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.tokens import Tokens


@final
class NystromAttentionConfig(AttentionConfig):
    """Settings of Nystromformer attention."""

    kind: Literal["nystrom"] = "nystrom"
    landmarks: int = Field(64, ge=1, le=65_536)
    """Segments whose mean queries and keys stand for all."""
    iterations: int = Field(6, ge=1, le=1000)
    """Iterations of the pseudo-inverse."""
    kernel: int = Field(33, ge=0, le=10_001)
    """Tokens under the convolution of the values, an odd number; 0 for none."""

    @field_validator("kernel")
    @classmethod
    def _kernel_has_a_middle(cls, kernel: int) -> int:
        if kernel and kernel % 2 == 0:
            raise ValueError(f"must be odd, or 0 for no convolution, got {kernel}")
        return kernel


@final
class NystromAttention(Attention):
    """Nystrom approximation of softmax attention."""

    config: NystromAttentionConfig

    def __init__(self, config: NystromAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.convolution = nn.Conv1d(heads, heads, config.kernel, groups=heads, bias=False) if config.kernel else None

    def _mix(self, tokens: Tokens) -> Tensor:
        mask, (query, key, value) = tokens.mask, self._project(tokens)
        # Mean queries and keys of segments, the landmarks.
        batch, size = len(mask), min(self.config.landmarks, mask.size(1))
        counts = mask.sum(1, keepdim=True)
        segments = counts.clamp(max=size)
        rank = (mask.cumsum(1) - 1).clamp(min=0)
        segment = torch.div(rank * segments, counts.clamp(min=1), rounding_mode="floor")  # (batch, length)
        index = (segment + size * torch.arange(batch, device=mask.device)[:, None]).flatten()
        ones = at_least_float32(mask.flatten().to(query.dtype))
        lengths = ones.new_zeros(batch * size).index_add(0, index, ones).clamp(min=1)

        def average(states: Tensor) -> Tensor:  # (batch, heads, landmarks, head_dim)
            rows = at_least_float32(zero_padding(merge_heads(states), mask).flatten(0, 1))  # (batch * length, dim)
            means = rows.new_zeros(batch * size, rows.size(1)).index_add(0, index, rows) / lengths[:, None]
            return split_heads(means.to(states.dtype).view(batch, size, -1), self.heads)

        landmark_query, landmark_key = average(query), average(key)
        is_landmark = torch.arange(size, device=mask.device) < segments
        context = attend(landmark_query, key, value, mask)  # (batch, heads, landmarks, head_dim)
        weights = attention_weights(landmark_query, landmark_key, is_landmark)
        weights = weights.masked_fill(~is_landmark[:, None, :, None], 0.0)
        context = matmul_exactly(iterate_pseudo_inverse(weights, self.config.iterations), context)
        mixed = attend(query, landmark_key, context.to(value.dtype), is_landmark)
        if self.convolution is not None:  # of the values over the tokens
            weight = self.convolution.weight[..., None]  # (heads, 1, kernel, 1)
            real = value.masked_fill(~mask[:, None, :, None], 0.0)
            mixed = mixed + F.conv2d(real, weight, padding=(weight.size(2) // 2, 0), groups=self.heads)
        return merge_heads(mixed)
