"""Skyformer attention (Chen et al., 2021): the Nystrom method for kernelized attention.

The Gaussian kernel C of queries and keys is a block of the positive semi-definite kernel of both together. With
`landmarks` l of both, C V is approximated by C(Q, l) (C(l, l) + regularization * I)^-1 C(l, K) V:
O(length * landmarks * dim). The inverse is iterated on the matrix divided by the square roots of its row and column
sums, whose eigenvalues are between 0 and 1; it starts from the transpose divided by the largest column sum. As in the
paper, weights do not sum to 1.

As in the released code, half of the landmarks are queries and half are keys (paper: drawn from both together), heads
share their places, and the iteration is that of Nystromformer. Departures from the code: the scale is head_dim^(-1/4)
(code: that of 32 features); the column sum is that of the same matrix (code: the largest one in the batch, so that
documents change each other); landmarks are fixed by the seed and the length of the document unless `redraw` is set
(code: drawn at every call, in evaluation too); padding is neither a landmark nor a key.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._base import Attention, AttentionConfig, log_kernel, scale
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.low_rank import iterate_pseudo_inverse, sample_tokens, step_seed, take_rows
from sumpool.core.nn.numerics import matmul_exactly
from sumpool.core.tokens import Tokens


@final
class SkyformerAttentionConfig(AttentionConfig):
    """Settings of Skyformer attention."""

    kind: Literal["skyformer"] = "skyformer"
    landmarks: int = Field(128, ge=1, le=65_536)
    """Queries and keys that stand for all; more approximate kernelized attention more closely."""
    regularization: float = Field(0.1, ge=0, le=1000)
    """Added to the diagonal of the landmarks' kernel."""
    iterations: int = Field(6, ge=1, le=1000)
    """Iterations of the inverse."""
    redraw: bool = False
    """Whether each training step draws new landmarks; summaries always use those of the seed."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Seed of the landmarks."""


@final
class SkyformerAttention(Attention):
    """Nystrom approximation of attention by a Gaussian kernel."""

    config: SkyformerAttentionConfig

    def _mix(self, tokens: Tokens) -> Tensor:
        config, mask, (query, key, value) = self.config, tokens.mask, self._project(tokens)
        query, key = scale(query), scale(key)
        seed = step_seed(config.seed, config.redraw and self.training)
        of_queries = config.landmarks // 2
        queries, is_query = sample_tokens(mask, of_queries, seed, 0)
        keys, is_key = sample_tokens(mask, config.landmarks - of_queries, seed, 1)
        index = torch.cat([queries, keys + mask.size(1)], dim=1)  # among queries followed by keys, (batch, landmarks)
        is_landmark = torch.cat([is_query, is_key], dim=1)
        landmarks = take_rows(torch.cat([query, key], dim=2), index[:, None])  # (batch, heads, landmarks, head_dim)
        absent, padding = ~is_landmark[:, None, :, None], ~mask[:, None, None]
        left = log_kernel(query, landmarks).exp().masked_fill(absent.mT, 0.0)
        middle = log_kernel(landmarks, landmarks).exp().masked_fill(absent | absent.mT, 0.0)
        right = log_kernel(landmarks, key).exp().masked_fill(absent | padding, 0.0)
        # The inverse of the regularised kernel of the landmarks, 0 where there is none.
        middle = middle + config.regularization * is_landmark[:, None].to(middle.dtype).diag_embed()
        degree = middle.sum(3, keepdim=True)
        root = degree.masked_fill(degree == 0, 1.0).rsqrt()  # (batch, heads, landmarks, 1)
        inverse = iterate_pseudo_inverse(middle * root * root.mT, config.iterations, contractive=True) * root * root.mT
        mixed = matmul_exactly(left, matmul_exactly(inverse, matmul_exactly(right, value)))
        return merge_heads(mixed.to(value.dtype))
