"""Performer attention (Choromanski et al., 2021): positive orthogonal random features, FAVOR+.

The features exp(w x - |x|^2 / 2) / sqrt(features) of queries and keys, each divided by head_dim^(1/4), have the
expected product exp(q k / sqrt(head_dim)) over Gaussian directions w, so that the normalised weights approximate those
of the softmax: O(length * features * dim). Blocks of head_dim directions are orthogonal, which lowers the variance;
their lengths are those of Gaussian vectors.

Before the exponential, the maximum is subtracted for each query, and for each document and head over the real keys;
both cancel in the normalised weights, up to rounding.
Departures from the released code: padding changes no result (released: it takes part in the maximum of the keys); no
constant is added to the features; the orthogonal matrices are uniformly distributed (released: Q of a QR decomposition
as it is, a biased estimate, whose error does not vanish with more features); the directions are fixed by a seed.
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._base import AttentionConfig, KernelAttention
from sumpool.core.nn.numerics import matmul_exactly


@final
class PerformerAttentionConfig(AttentionConfig):
    """Settings of Performer attention."""

    kind: Literal["performer"] = "performer"
    features: int = Field(256, ge=1, le=65_536)
    """Random features; more approximate the softmax more closely."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Seed of the directions."""


@final
class PerformerAttention(KernelAttention):
    """Approximation of softmax attention by positive random features, the same directions in all heads."""

    directions: Tensor

    def __init__(self, config: PerformerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        generator = torch.Generator().manual_seed(config.seed)
        size = dim // heads
        gaussian = torch.randn(math.ceil(config.features / size), size, size, generator=generator, device="cpu")
        columns, triangle = torch.linalg.qr(gaussian)  # each (blocks, size, size)
        # Without the signs the distribution of the columns is not uniform, and the approximation is biased.
        signs = triangle.diagonal(dim1=1, dim2=2).sign()  # (blocks, size)
        orthogonal = (columns * signs[:, None]).mT.flatten(0, 1)[: config.features]
        lengths = torch.randn(config.features, size, generator=generator, device="cpu").norm(dim=1)
        self.register_buffer("directions", orthogonal * lengths[:, None], persistent=False)

    def _feature_map(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        # Logarithms of the features, (batch, heads, length, features), without the constant that cancels.
        query, key = (
            matmul_exactly(values, self.directions.T) - values.square().sum(3, keepdim=True) / 2
            for values in (query * query.size(3) ** -0.25, key * key.size(3) ** -0.25)
        )
        lowest = torch.finfo(key.dtype).min
        largest = key.detach().masked_fill(~mask[:, None, :, None], lowest).amax((2, 3), keepdim=True)
        # Padding may exceed the largest feature of the real keys.
        key = (key - largest).masked_fill(~mask[:, None, :, None], 0.0)
        return (query - query.detach().amax(3, keepdim=True)).exp(), key.exp()
