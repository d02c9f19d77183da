"""Informer attention (Zhou et al., 2021): full attention for few queries, the mean of the values for all others.

ProbSparse self-attention: the queries with the largest difference between the maximum and the mean of their scores are
active and attend to all keys. The difference is measured on few sampled keys. Of a document of n tokens,
`factor` ln(n) keys are sampled, and as many queries are active: O(length * log(length) * dim). More of either
approximate full attention, which it is once all queries are active.

`mean_over` names what differs between paper and released code, where the sum over the samples is divided by the length.
Departures: all queries share the sampled keys, as in the paper (code: keys for each query, with replacement); there are
ceil(factor * ln(n)) of both (code: factor * ceil(ln(n))); padding is masked; keys are drawn by the seed and the length
of the document unless `redraw` is set (code: at every call). Distilling, which halves a document between layers, is
`pool: {kind: distilling}`.
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.low_rank import fill_rows, sample_tokens, step_seed, take_rows
from sumpool.core.nn.masking import attend
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.tokens import Tokens


@final
class InformerAttentionConfig(AttentionConfig):
    """Settings of Informer attention."""

    kind: Literal["informer"] = "informer"
    factor: float = Field(5, gt=0, le=100_000)
    """Sampled keys and active queries, as a multiple of the logarithm of the document's tokens, rounded up."""
    mean_over: Literal["samples", "length"] = "samples"
    """Divisor of the sum of the sampled scores: their number, or the tokens of the document."""
    redraw: bool = False
    """Whether each training step draws new keys; summaries always use those of the seed."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Seed of the sampled keys."""


@final
class InformerAttention(Attention):
    """Full attention for active queries, the mean of the values for the others."""

    config: InformerAttentionConfig

    def _mix(self, tokens: Tokens) -> Tensor:
        config, (query, key, value), mask = self.config, self._project(tokens), tokens.mask
        counts = mask.sum(1, keepdim=True)
        # Samples of a document: at least one, at most all of its tokens; of an empty one none.
        size = min(mask.size(1), max(1, math.ceil(config.factor * math.log(max(1, mask.size(1))))))
        sizes = (config.factor * counts.clamp(min=1).double().log()).ceil().long().clamp(min=1).minimum(counts)
        measured = self._measure(query.detach(), key.detach(), mask, size, sizes)
        measured = measured.masked_fill(~mask[:, None], -math.inf)
        index = measured.argsort(dim=2, descending=True, stable=True)[..., :size]
        is_active = (torch.arange(size, device=mask.device) < sizes)[:, None].expand_as(index)
        real = counts.clamp(min=1)[:, None, None]
        mean = value.masked_fill(~mask[:, None, :, None], 0.0).sum(2, keepdim=True) / real
        mixed = attend(take_rows(query, index), key, value, mask)  # (batch, heads, active, head_dim)
        mixed = fill_rows(mean.to(value.dtype).expand_as(value), index, is_active, mixed)
        return merge_heads(mixed)

    def _measure(self, query: Tensor, key: Tensor, mask: Tensor, size: int, sizes: Tensor) -> Tensor:
        """Maximum minus mean of the scores of each query with sampled keys, (batch, heads, length)."""
        seed = step_seed(self.config.seed, self.config.redraw and self.training)
        query, key = at_least_float32(query) * query.size(3) ** -0.5, at_least_float32(key)
        index, _ = sample_tokens(mask, size, seed, 0)  # (batch, samples)
        scores = matmul_exactly(query, take_rows(key, index[:, None]).mT)
        absent = (torch.arange(size, device=mask.device) >= sizes)[:, None, None]  # (batch, 1, 1, samples)
        largest = scores.masked_fill(absent, -math.inf).amax(3)
        divisor = sizes if self.config.mean_over == "samples" else mask.sum(1, keepdim=True)
        return largest - scores.masked_fill(absent, 0.0).sum(3) / divisor.clamp(min=1)[..., None]
