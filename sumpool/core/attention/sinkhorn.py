"""Sinkhorn attention (Tay et al., 2020, "Sparse Sinkhorn Attention"): every block also attends to a sorted block.

Two linear maps of the mean states of all blocks give scores of pairs of blocks, which alternating normalisation of
columns and rows turns into nearly doubly stochastic weights: a relaxed permutation, in each head its own. A block
attends to its own tokens and to the block that the permutation puts in its place, a mixture of all blocks:
O(length * block * dim + length^2 / block * dim). In training, Gumbel noise is added to the scores.

Departures from the paper: scores are products of block means, so that documents may have any number of blocks (paper: a
linear map to a fixed number); padding takes part in no mean, normalisation or mixture, and where blocks of a mixture
have no token, the rest is averaged and its weight multiplied by their share; the noise of a step depends on head and
blocks only, the same in all documents. As in the paper, a block may be sorted to its own place.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend_in_blocks, zero_padding
from sumpool.core.nn.numerics import at_least_float32, hash_pairs, matmul_exactly
from sumpool.core.tokens import Tokens

_LOWEST = -1e30
"""Log-weight of pairs of blocks that do not exist, finite so that no normalisation is NaN."""

_MIN_SHARE = 1e-20
"""Smallest share of blocks with a token in a mixture, whose logarithm and reciprocal have finite gradients."""


@final
class SinkhornAttentionConfig(AttentionConfig):
    """Settings of Sinkhorn attention."""

    kind: Literal["sinkhorn"] = "sinkhorn"
    block: int = Field(64, ge=1, le=10_000_000)
    """Tokens per block."""
    iterations: int = Field(7, ge=1, le=1000)
    """Normalisations of columns and rows; more come closer to doubly stochastic weights."""
    temperature: float = Field(0.7, ge=0.01, le=100.0)
    """Divisor of the scores; lower ones come closer to a permutation."""


@final
class SinkhornAttention(Attention):
    """Self-attention to a block and to the one that is sorted to its place."""

    def __init__(self, config: SinkhornAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.block_size = config.block
        self.iterations = config.iterations
        self.temperature = config.temperature
        self.sort = nn.Linear(dim, 2 * dim)

    def _mix(self, tokens: Tokens) -> Tensor:
        rest = -tokens.states.size(1) % self.block_size
        real = F.pad(tokens.mask, (0, rest)).unflatten(1, (-1, self.block_size))  # (batch, blocks, block)
        query, key, value = (
            F.pad(part, (0, 0, 0, rest)).unflatten(2, (-1, self.block_size)) for part in self._project(tokens)
        )  # (batch, heads, blocks, block, head_dim)
        # The relaxed permutation of the blocks of each document, (batch, heads, blocks, blocks), 0 for empty blocks.
        padded = F.pad(zero_padding(tokens.states, tokens.mask), (0, 0, 0, rest)).unflatten(1, (-1, self.block_size))
        means = self.sort(padded.sum(2) / real.sum(2).clamp(min=1)[..., None])  # (batch, blocks, 2 * dim)
        left, right = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in means.chunk(2, dim=-1))
        scores = at_least_float32(left @ right.mT) / left.size(3) ** 0.5
        if self.training:
            scores = scores + self._noise(scores.size(2), scores.device)
        filled = real.any(2)[:, None]
        missing = ~(filled[..., None] & filled[..., None, :])  # (batch, 1, blocks, blocks)
        weights = (scores / self.temperature).masked_fill(missing, _LOWEST)
        for _ in range(self.iterations):
            for axis in (2, 3):
                weights = (weights - weights.logsumexp(axis, keepdim=True)).masked_fill(missing, _LOWEST)
        mixture = weights.exp()
        real = real[:, None]
        share = matmul_exactly(mixture, real.to(mixture.dtype)).clamp(min=_MIN_SHARE)
        sorted_key, sorted_value = (
            (matmul_exactly(mixture, part.masked_fill(~real[..., None], 0.0).flatten(3)).unflatten(3, part.shape[3:]))
            / share[..., None]
            for part in (key, value)
        )
        lowest = torch.finfo(query.dtype).min
        exists = real.any(2, keepdim=True)  # (batch, 1, 1, block)
        local = torch.zeros_like(share).masked_fill(~real, lowest)
        bias = torch.cat([local, share.log().masked_fill(~exists, lowest)], dim=3)
        keys = torch.cat([key, sorted_key.to(key.dtype)], dim=3)
        values = torch.cat([value, sorted_value.to(value.dtype)], dim=3)
        mixed = attend_in_blocks(query, keys, values, bias[..., None, :].to(query.dtype))
        return merge_heads(mixed.flatten(2, 3)[:, :, : tokens.states.size(1)])

    def _noise(self, blocks: int, device: torch.device) -> Tensor:
        """Draw Gumbel noise for all pairs of blocks, whatever the length of the batch, (heads, blocks, blocks)."""
        draw = int(torch.randint(2**31, (), device="cpu"))
        uniform = hash_pairs(blocks, self.heads, draw, device).double() + 2.0**-25  # in (0, 1)
        noise: Tensor = -(-uniform.log()).log()
        return noise.float()
