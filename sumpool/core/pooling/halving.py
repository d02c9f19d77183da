"""Successive halving top-k (Pietruszka et al., "Trainable Representation Pooling", Algorithm 1).

A tournament: each round pairs the best vector with the worst, the second best with the second worst, and replaces each
pair by a convex combination, until `keep` vectors are left. The tournament runs on scores alone, for all documents at
once; the states are read once at the end, so that the cost is O(length * dim) plus a few sorts of scalars.

Departures from the released code: padding is never paired with real vectors (released: pads enter as zero vectors with
a score and dilute); any length and any `keep` are allowed (released: length / keep must be a power of two); survivors
are in source order (released: a flag that is off); there is no loop over the batch.
"""

import math
from dataclasses import replace
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32, sigmoid
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Keep, Pooled, ScoredPooler, ScoredPoolerConfig, keep_all, keep_counts, max_kept
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings

PeakKind = Literal["double_exponential", "scaled", "plain"]
Sort = Literal["each_round", "once", "never"]


class Peak(Settings):
    """Weight of the better vector of a pair: sigmoid(f(better) - f(worse)) of the two scores."""

    kind: PeakKind = "double_exponential"
    """Function f of a score v: base ** v (double_exponential, the released code), base * v (scaled, Goyal et al.,
    2017), or v (plain, the paper's equation 6)."""
    base: float = Field(20.0, gt=1, le=1_000_000)
    """Base of double_exponential, or factor of scaled; plain ignores it."""

    def weight(self, left: Tensor, right: Tensor) -> Tensor:
        """Weight of the left scores of pairs, of equal shapes: at least 0.5 where the left is better."""
        if self.kind == "double_exponential":
            return sigmoid((math.log(self.base) * left).exp() - (math.log(self.base) * right).exp())
        factor = self.base if self.kind == "scaled" else 1.0
        return sigmoid(factor * (left - right))


@final
class HalvingPoolerConfig(ScoredPoolerConfig):
    """Settings of successive halving."""

    kind: Literal["halving"] = "halving"
    peak: Peak = Peak()
    """Weight of the better vector of a pair."""
    sort: Sort = "each_round"
    """When vectors are sorted by score for pairing: each_round (the paper), once (a combination keeps the rank of its
    better vector), or never (the first position is paired with the last, the paper's ablation)."""
    inference: Literal["soft", "hard"] = "soft"
    """Pairs after training: soft combines them (the paper), hard keeps the better vector."""


def halve(
    scores: Tensor,
    mask: Tensor,
    keep: Keep,
    peak: Peak,
    hard: bool = False,
    sort: Sort = "each_round",
    max_length: int | None = None,
) -> tuple[Mixture, Tensor, Tensor]:
    """Run the tournament on scores.

    Each document is halved to its own size: `rounds` rounds start from kept * 2 ** rounds slots, at least as many as
    there are vectors. Rank i is paired with rank 2 * slots left - 1 - i, and a vector whose partner slot is empty
    passes unchanged.

    Args:
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens, which come first.
        keep: Number or fraction of survivors; at most the real tokens of a document.
        peak: Weight of the better vector of a pair.
        hard: Whether the better vector has weight 1, which is exactly top-k unless `sort` is never.
        sort: When vectors are sorted by score for pairing.
        max_length: Length, at least that of the scores, which determines the numbers of slots and rounds; by default
            that of the scores. More rounds than these need change nothing, as nothing is paired in them.

    Returns:
        Weights of the vectors in each survivor, in source order; every vector belongs to exactly one. The index of the
        heaviest vector of each, (batch, keep), which increases over real survivors. And a scalar, the mean weight of
        the better vector over all pairs of real vectors: near 0.5 the scorer is undecided, near 1 its gradient
        vanishes; NaN without a pair of real vectors.
    """
    length, max_length = scores.size(1), scores.size(1) if max_length is None else max_length
    survivors = max_kept(keep, max_length)
    ratio = max_length / keep if isinstance(keep, int) else min(1 / keep, max_length)  # a document keeps 1 at least
    rounds = math.ceil(math.log2(max(1, ratio)))
    values = F.pad(at_least_float32(scores).masked_fill(~mask, 0.0), (0, survivors * 2**rounds - length))
    slots = keep_counts(keep, mask)[:, None] << rounds  # (batch, 1)
    real = mask.sum(1, keepdim=True)
    # Of each round: vector index at each rank (batch, slots), None if the order was kept; slots left (batch, 1);
    # weights of the lower ranks (batch, slots / 2), 1 without a partner.
    history: list[tuple[Tensor | None, Tensor, Tensor]] = []
    total, pairs = values.new_zeros(()), real.new_zeros(())
    for index in range(rounds):
        ranked: Tensor | None = None
        if sort == "each_round" or (sort == "once" and index == 0):  # the real ones, best first
            absent = torch.arange(values.size(1), device=values.device) >= real
            values, ranked = values.masked_fill(absent, -math.inf).sort(dim=1, descending=True, stable=True)
            values = values.masked_fill(absent, 0.0)
        slots = slots // 2
        rank = torch.arange(values.size(1) // 2, device=values.device)
        partner = 2 * slots - 1 - rank  # (batch, slots / 2)
        paired = (rank < slots) & (partner < real)
        left, right = values[:, : len(rank)], values.gather(1, partner.clamp(min=0))
        weight = (left >= right).to(values.dtype) if hard else peak.weight(left, right)
        weight = torch.where(paired, weight, 1.0)
        values = torch.lerp(right, left, weight)
        real = real.minimum(slots)
        history.append((ranked, slots, weight))
        winners = torch.where(paired, weight.detach().maximum(1 - weight.detach()), 0.0)
        total, pairs = total + winners.sum(), pairs + paired.sum()
    # Back from the survivors to their vectors.
    mask = torch.arange(survivors, device=real.device) < real  # (batch, keep)
    members = mask.new_ones(mask.shape).cumsum(1)[..., None] - 1  # (batch, keep, 1)
    weights = mask[..., None].to(values.dtype)
    for ranked, slots, pair_weights in reversed(history):
        weight = pair_weights.gather(1, members.flatten(1)).view_as(members)
        partner = (2 * slots[..., None] - 1 - members).clamp(min=0)
        members = torch.cat([members, partner], dim=2)  # (batch, keep, 2 * members)
        weights = torch.cat([weights * weight, weights * (1 - weight)], dim=2)
        if ranked is not None:
            members = ranked.gather(1, members.flatten(1)).view_as(members)
    members = members.clamp(max=length - 1)
    heaviest = members.gather(2, weights.detach().argmax(2, keepdim=True))[..., 0]
    heaviest, order = heaviest.masked_fill(~mask, length).sort(dim=1)
    index_of_members = order[..., None].expand_as(members)
    mixture = Mixture(members.gather(1, index_of_members), weights.gather(1, index_of_members), mask)
    return mixture, heaviest, total / pairs


@final
class HalvingPooler(ScoredPooler):
    """Successive halving of scored vectors.

    Attributes:
        max_length: Most vectors of a document, if the shapes of the tournament must not depend on its length, as in an
            exported graph; None where they follow the batch.
    """

    config: HalvingPoolerConfig
    max_length: int | None = None

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim); see `Pooler.forward`."""
        tokens, config = tokens.zero_padded(), self.config
        if self.max_length is None and self._keeps_all(tokens):
            return keep_all(tokens)
        hard = config.inference == "hard" and not self.training
        scores = self.scorer(tokens)
        mixture, heaviest, winner_share = halve(
            scores, tokens.mask, config.keep, config.peak, hard, config.sort, self.max_length
        )
        pooled = self._pool(tokens, mixture.combine(tokens.states), mixture.mask, heaviest)
        return Pooled(replace(pooled, metrics={"winner_share": winner_share}), lambda: mixture)
