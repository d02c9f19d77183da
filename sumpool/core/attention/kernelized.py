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


@final
class KernelizedAttention(Attention):
    """Full self-attention by a Gaussian kernel."""

    config: KernelizedAttentionConfig

    def _mix(self, tokens: Tokens) -> Tensor:
        """Mix the values in O(length) memory, by the fused softmax attention.

        The logarithm of the kernel is a product of vectors with two more coordinates. One more key with logit 0 and
        value 0 gets the weight 1 / (1 + sum of all others), which a further coordinate of the values returns, and
        division by it takes the normalisation back.
        """
        mask, (query, key, value) = tokens.mask, self._project(tokens)
        dtype = value.dtype
        with torch.autocast(tokens.states.device.type, enabled=False):  # would round the exponents
            query, key, value = scale(query), scale(key), at_least_float32(value)
            dim, keys = value.size(3), 0 if self.config.normalize else 1
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
                mixed = mixed[..., :dim] / mixed[..., dim : dim + 1]
            else:  # the softmax over nothing is NaN
                mixed = mixed[..., :dim].masked_fill(~mask.any(1)[:, None, None, None], 0.0)
        return merge_heads(mixed.to(dtype))
