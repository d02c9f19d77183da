"""Kernelized attention (Chen et al., 2021, "Skyformer"): weights are a Gaussian kernel of queries and keys.

Weights exp(-|q - k|^2 / (2 sqrt(head_dim))) replace the softmax, O(length^2 * dim); the kernel is that of the softmax
divided by exp(|q|^2 / 2) and exp(|k|^2 / 2), so that outliers get no large weight. As in the paper, weights are not
normalised, and the output grows with the length; `normalize` divides those of each query by their sum. Padding is
masked.
"""

from typing import Literal, final

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig, minus_half_square, scale
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@final
class KernelizedAttentionConfig(AttentionConfig):
    """Settings of kernelized attention."""

    kind: Literal["kernelized"] = "kernelized"
    normalize: bool = False
    """Whether the weights of each query sum to 1."""

    def build(self, dim: int, heads: int) -> "KernelizedAttention":
        """Build the attention."""
        return KernelizedAttention(self, dim, heads)


@final
class KernelizedAttention(Attention):
    """Full self-attention by a Gaussian kernel."""

    def __init__(self, config: KernelizedAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.normalize = config.normalize

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        with torch.autocast(tokens.states.device.type, enabled=False):  # would round the exponents
            mixed = self._fused(scale(query), scale(key), at_least_float32(value), tokens.mask)
        return merge_heads(mixed.to(value.dtype))

    def _fused(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """Mix the values in O(length) memory, by the fused softmax attention.

        The logarithm of the kernel is a product of vectors with two more coordinates. One more key with logit 0 and
        value 0 gets the weight 1 / (1 + sum of all others), which a further coordinate of the values returns, and
        division by it takes the normalisation back.

        Args:
            query: (batch, heads, length, head_dim), scaled, at least float32.
            key: Like `query`.
            value: Like `query`, not scaled.
            mask: (batch, length), True at visible keys.

        Returns:
            (batch, heads, length, head_dim).
        """
        dim, keys = value.size(3), 0 if self.normalize else 1
        columns = -(dim + 2) % 8  # fused kernels of GPUs need a multiple of 8
        one = torch.ones_like(value[..., :1])
        query = F.pad(torch.cat([query, minus_half_square(query), one], 3), (0, columns))
        key = F.pad(torch.cat([key, one, minus_half_square(key)], 3), (0, columns, 0, keys))
        value = F.pad(value, (0, columns + 2, 0, keys))
        if keys:
            value[:, :, -1, dim] = 1.0
        visible = F.pad(mask, (0, keys), value=True)[:, None, None]
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=visible, scale=1.0)
        if keys:
            return mixed[..., :dim] / mixed[..., dim : dim + 1]
        return mixed[..., :dim].masked_fill(~mask.any(1)[:, None, None, None], 0.0)  # softmax over nothing is NaN
