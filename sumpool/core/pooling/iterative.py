"""Iterative soft top-k (Goyal et al., "A continuous relaxation of beam search", 2018), a baseline of Pietruszka et al.

`keep` times a softmax of the scores over the vectors not yet taken mixes one vector, and the heaviest is taken out. The
published loop costs O(length * keep * dim) and stands here as `iterate`. But the row of rank r is nothing else than the
mean of all vectors from rank r on, weighted by exp(sharpness * score): suffix sums over the ranks give all rows in
O(length * dim) and one sort, and that is what the pooler does.

Departures: padding has no part in a softmax; rows stand in source order, each where its heaviest vector stood; a
document that has no more vectors than are kept passes as it is, where the loop would still blend it.
"""

import math
from typing import Annotated, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import States
from sumpool.core.pooling._base import Keep, Pooled, Pooler, PoolerConfig, best, kept, leave, most_kept, unchanged
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.scoring.linear import LinearScorerConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import OneOf


@final
class IterativePoolerConfig(PoolerConfig):
    """Settings of iterative soft top-k."""

    kind: Literal["iterative"] = "iterative"
    keep: Keep = 512
    """Vectors that stay: a number, or a share of each document's own."""
    scorer: Annotated[ScorerConfig, OneOf("sumpool.core.scoring")] = LinearScorerConfig()
    """What a vector is worth."""
    sharpness: float = Field(1.0, gt=0, le=100)
    """Factor of the scores in every softmax. At 1, which the authors benchmarked, scores in [0, 1] hardly tell vectors
    apart and every row is nearly the document's mean; the larger it is, the nearer the rows come to exact top-k, and
    the fewer vectors get a gradient."""

    def build(self, embedding: nn.Embedding) -> "IterativePooler":
        """Build the pooler."""
        return IterativePooler(self, self.scorer.build(embedding.embedding_dim))


def iterate(states: Tensor, scores: Tensor, mask: Tensor, keep: Keep, sharpness: float) -> Tensor:
    """Mix and take out one vector after another, as published, in O(length * keep * dim).

    Args:
        states: (batch, length, dim), finite everywhere.
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens.
        keep: Rows; fewer where a document has fewer real tokens.
        sharpness: Factor of the scores.

    Returns:
        (batch, keep, dim), in the order in which the vectors are taken out; 0 where there is none.
    """
    logits = (sharpness * at_least_float32(scores)).masked_fill(~mask, -math.inf)
    number = kept(keep, mask)[:, None]
    rows = []
    for rank in range(most_kept(keep, scores.size(1))):
        weights = logits.softmax(1).masked_fill(rank >= number, 0.0)  # over nothing it is no number
        rows.append((weights[:, None].to(states.dtype) @ states)[:, 0])  # (batch, dim)
        logits = logits.scatter(1, logits.argmax(1, keepdim=True), -math.inf)
    return torch.stack(rows, dim=1)


def suffix_means(states: Tensor, scores: Tensor, mask: Tensor, keep: Keep, sharpness: float) -> Tensor:
    """Give the rows of `iterate` in O(length * dim); scores must lie in [0, 1].

    The sums run from the lightest to the heaviest, so that none of them is a difference.
    """
    found, real = best(scores, mask, keep)
    return _suffix_means(states, _weights(scores, mask, sharpness), found, real)


def _weights(scores: Tensor, mask: Tensor, sharpness: float) -> Tensor:
    """Weigh (batch, length): up to sharpness 100 no score in [0, 1] vanishes or overflows in float32; 0 at padding."""
    return (sharpness * (at_least_float32(scores) - 0.5)).masked_fill(~mask, -math.inf).exp()


def _suffix_means(states: Tensor, weights: Tensor, found: Tensor, real: Tensor) -> Tensor:
    """Average (batch, length, dim) from each of the ranks `found` (batch, keep) on, as far as they are `real`."""
    wide = at_least_float32(states)
    picked = wide.gather(1, found[..., None].expand(-1, -1, states.size(2)))  # (batch, keep, dim)
    weight = weights.gather(1, found).masked_fill(~real, 0.0)  # (batch, keep)
    rest = weights.scatter(1, found.where(real, found[:, :1]), 0.0)  # what no row takes out
    mass = torch.cat([rest.sum(1, keepdim=True), weight.flip(1)], dim=1).cumsum(1)
    total = torch.cat([rest[:, None].to(wide.dtype) @ wide, (picked * weight[..., None]).flip(1)], dim=1).cumsum(1)
    means = total[:, 1:] / mass[:, 1:, None].masked_fill(~real.flip(1)[..., None], 1.0)
    return zero_padding(means.flip(1), real).to(states.dtype)


@final
class IterativePooler(Pooler):
    """Blends the best vectors with everything below them."""

    def __init__(self, config: IterativePoolerConfig, scorer: Scorer) -> None:
        super().__init__()
        self.config = config
        self.scorer = scorer

    def forward(self, tokens: Tokens, vectors: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim)."""
        tokens = vectors.all() if vectors else tokens
        length = tokens.mask.size(1)
        if most_kept(self.config.keep, length) == length:
            return unchanged(tokens)
        states = zero_padding(tokens.states, tokens.mask)
        scores = self.scorer(tokens.with_states(states)).masked_fill(~tokens.mask, 0.0)
        found, mask = best(scores, tokens.mask, self.config.keep)
        weights = _weights(scores, tokens.mask, self.config.sharpness)
        means = _suffix_means(states, weights, found, mask)
        order = found.masked_fill(~mask, length).argsort(dim=1)  # ranks in source order
        heaviest = found.gather(1, order)
        deep = (*mask.shape, states.size(2))
        whole = (mask.sum(1) == tokens.mask.sum(1))[:, None, None]
        left = torch.where(
            whole,
            states.gather(1, heaviest[..., None].expand(deep)),
            means.gather(1, order[..., None].expand(deep)),
        )  # (batch, keep, dim)

        def mixture() -> Mixture:
            unranked = order.new_full((len(order), length + 1), length)  # one place more, for padding
            rank = unranked.scatter(1, heaviest.masked_fill(~mask, length), order)[:, :length]
            below = rank[:, None] >= order[..., None]  # (batch, keep, length)
            itself = rank[:, None] == order[..., None]
            shares = torch.where(whole, itself, below) * weights[:, None]
            shares = shares / shares.sum(2, keepdim=True).masked_fill(~mask[..., None], 1.0)
            members = torch.arange(length, device=rank.device).expand(shares.shape)
            return Mixture(members, shares.masked_fill(~mask[..., None], 0.0), mask)

        return Pooled(leave(tokens, left, mask, heaviest), mixture)
