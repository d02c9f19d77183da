"""Iterative soft top-k (Goyal et al., "A continuous relaxation of beam search", 2018), a baseline of Pietruszka et al.

In each of `keep` steps one output vector is the mean of the remaining vectors, weighted by a softmax of
-sharpness * (score - highest remaining score)^2, and the heaviest vector is removed. The loop costs
O(length * keep * dim); it is implemented as `iterate`, and the pooler computes all steps as one matrix product.

Departures: padding is masked in the softmax; outputs are in source order, each at the position of its heaviest vector;
a document with no more vectors than are kept is returned unchanged, where the loop would still average it.
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import (
    Keep,
    Pooled,
    ScoredPooler,
    ScoredPoolerConfig,
    keep_all,
    keep_counts,
    max_kept,
    top_k,
)
from sumpool.core.tokens import Tokens


@final
class IterativePoolerConfig(ScoredPoolerConfig):
    """Settings of iterative soft top-k."""

    kind: Literal["iterative"] = "iterative"
    sharpness: float = Field(1.0, gt=0, le=100)
    """Factor in every softmax. At 1, the value benchmarked by the authors, scores in [0, 1] give nearly uniform weights
    and every output is close to the document's mean; larger values approach exact top-k, and fewer vectors receive a
    gradient."""


def iterate(states: Tensor, scores: Tensor, mask: Tensor, keep: Keep, sharpness: float) -> Tensor:
    """Loop of one softmax per output vector, O(length * keep * dim).

    Args:
        states: (batch, length, dim), finite everywhere.
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens.
        keep: Number or fraction of output vectors; at most the real tokens of a document.
        sharpness: Factor in the softmax.

    Returns:
        (batch, keep, dim), in order of removal; 0 at padding.
    """
    remaining = at_least_float32(scores).masked_fill(~mask, -math.inf)
    counts = keep_counts(keep, mask)[:, None]
    pooled = []
    for rank in range(max_kept(keep, scores.size(1))):
        highest = remaining.amax(1, keepdim=True)
        logits = -sharpness * (remaining - highest) ** 2  # NaN where no vectors are left
        step = logits.softmax(1).masked_fill(rank >= counts, 0.0)  # NaN over no vectors
        pooled.append((step[:, None].to(states.dtype) @ states)[:, 0])  # (batch, dim)
        remaining = remaining.scatter(1, remaining.argmax(1, keepdim=True), -math.inf)
    return torch.stack(pooled, dim=1)


def step_weights(scores: Tensor, mask: Tensor, ranked: Tensor, real: Tensor, sharpness: float) -> Tensor:
    """Weights of all steps, (batch, keep, length); 0 at padding and at vectors of earlier steps.

    Args:
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens.
        ranked: (batch, keep), indices of the best-scored vectors by descending score.
        real: (batch, keep), mask of `ranked`.
        sharpness: Factor in the softmax.
    """
    length, steps = scores.size(1), torch.arange(ranked.size(1), device=scores.device)
    wide = at_least_float32(scores)
    never = ranked.new_full((len(ranked), length + 1), ranked.size(1))  # the last column collects padding
    step = never.scatter(1, ranked.masked_fill(~real, length), steps.expand(ranked.shape))[:, :length]
    logits = -sharpness * (wide[:, None] - wide.gather(1, ranked)[..., None]) ** 2  # (batch, keep, length)
    is_left = mask[:, None] & (step[:, None] >= steps[:, None]) & real[..., None]
    least = torch.finfo(logits.dtype).min
    return logits.masked_fill(~is_left, least).softmax(2).masked_fill(~is_left, 0.0)


@final
class IterativePooler(ScoredPooler):
    """Iterative soft top-k, all steps at once."""

    config: IterativePoolerConfig

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim); see `Pooler.forward`."""
        length = tokens.mask.size(1)
        if self._keeps_all(tokens):
            return keep_all(tokens)
        tokens = tokens.zero_padded()
        vectors = tokens.states
        scores = self.scorer(tokens).masked_fill(~tokens.mask, 0.0)
        ranked, mask = top_k(scores, tokens.mask, self.config.keep)
        order = ranked.masked_fill(~mask, length).argsort(dim=1)  # ranks in source order
        heaviest = ranked.gather(1, order)
        unpooled = (mask.sum(1) == tokens.mask.sum(1))[:, None, None]
        steps = step_weights(scores, tokens.mask, ranked, mask, self.config.sharpness)
        means = matmul_exactly(steps, vectors).to(vectors.dtype)
        shape = (*mask.shape, vectors.size(2))
        pooled = torch.where(
            unpooled,
            vectors.gather(1, heaviest[..., None].expand(shape)),
            means.gather(1, order[..., None].expand(shape)),
        )  # (batch, keep, dim)

        def mixture() -> Mixture:
            one_hot = F.one_hot(heaviest, length).to(scores.dtype)
            mixed = torch.where(unpooled, one_hot, steps.gather(1, order[..., None].expand(steps.shape)))
            members = torch.arange(length, device=mask.device).expand(mixed.shape)
            return Mixture(members, mixed.masked_fill(~mask[..., None], 0.0), mask)

        return Pooled(self._pool(tokens, pooled, mask, heaviest), mixture)
