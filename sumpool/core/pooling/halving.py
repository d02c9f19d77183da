"""Successive halving top-k (Pietruszka et al., "Trainable Representation Pooling", Algorithm 1).

A tournament: in each round the best vector meets the worst, the second best the second worst, and of every pair one
convex combination goes on, until `keep` are left. The whole tournament is played on scores alone, for all documents at
once; the vectors are read a single time at its end, so that the cost is O(length * dim) plus a few sorts of scalars.

Departures from the released code: padding never meets a real vector on equal terms (there, pads enter as zero vectors
with a score and dilute); any length and any `keep` work (there, length / keep must be a power of two); survivors are
put back into source order (there, a flag that is off); no loop runs over the batch.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.masking import hide
from sumpool.core.nn.precision import at_least_float32
from sumpool.core.pooling._base import Mixture, Pooled, Pooler, PoolerConfig, leave, unchanged
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.scoring.linear import LinearConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings
from sumpool.variants import OneOf

PeakKind = Literal["double_exponential", "scaled", "plain"]


class Peak(Settings):
    """How much of a pair its better half takes: sigmoid(f(better) - f(worse)) of the two scores."""

    kind: PeakKind = "double_exponential"
    """f(v) = base ** v (released code), base * v (Goyal et al., 2017), or v (the paper's equation 6)."""
    base: float = Field(20.0, gt=1)
    """Base of the exponential, or the factor of scaled; plain has none."""

    def share(self, better: Tensor, worse: Tensor) -> Tensor:
        """Weigh pairs of scores, shapes alike, in [0.5, 1]."""
        if self.kind == "double_exponential":
            return (self.base**better - self.base**worse).sigmoid()
        factor = self.base if self.kind == "scaled" else 1.0
        return (factor * (better - worse)).sigmoid()


@final
class HalvingConfig(PoolerConfig):
    """Settings of successive halving."""

    kind: Literal["halving"] = "halving"
    keep: int = Field(512, ge=1)
    """Vectors that stay."""
    scorer: Annotated[ScorerConfig, OneOf("sumpool.core.scoring")] = LinearConfig()
    """What a vector is worth."""
    peak: Peak = Peak()
    """How much of a pair its better half takes."""
    inference: Literal["soft", "hard"] = "soft"
    """Whether a trained model still combines pairs (as the paper does) or the better half takes all."""

    def build(self, embedding: nn.Embedding) -> "HalvingPooler":
        """Build the pooler."""
        return HalvingPooler(self, self.scorer.build(embedding.embedding_dim))


@dataclass(frozen=True)
class Tournament:
    """How it ended.

    Attributes:
        mixture: Who stands behind every survivor; each vector stands behind exactly one.
        heaviest: (batch, keep), source index of the heaviest member; rises over real survivors.
        winner_share: Scalar, mean share of the better half over all pairs of real vectors; near .5 the scorer is
            undecided, near 1 it no longer learns. NaN where no real pair met.
    """

    mixture: Mixture
    heaviest: Tensor
    winner_share: Tensor


@dataclass(frozen=True)
class _Players:
    """Those still in the tournament; (batch, players) or (batch, players, members)."""

    scores: Tensor
    mask: Tensor
    members: Tensor
    weights: Tensor
    heaviest: Tensor
    """Source index of the heaviest member; padding stands behind everything real."""
    heaviest_weight: Tensor


def halve(scores: Tensor, mask: Tensor, keep: int, peak: Peak, hard: bool = False) -> Tournament:
    """Play the tournament on scores.

    Args:
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens; a real token always beats padding and takes all.
        keep: Survivors; fewer where a document has fewer real tokens.
        peak: How much of a pair its better half takes.
        hard: The better half takes all, which is exactly top-k.

    Returns:
        Survivors in source order.
    """
    batch, length = scores.shape
    rounds = max(0, math.ceil(math.log2(length / keep)))
    rest = keep * 2**rounds - length
    scores = F.pad(at_least_float32(scores), (0, rest))
    mask = F.pad(mask, (0, rest))
    index = torch.arange(length + rest, device=scores.device).expand(batch, -1)
    players = _Players(
        scores=scores,
        mask=mask,
        members=index.clamp(max=length - 1)[..., None],
        weights=mask[..., None].to(scores.dtype),
        heaviest=index + (length + rest) * ~mask,
        heaviest_weight=mask.to(scores.dtype).detach(),
    )
    shares: list[tuple[Tensor, Tensor]] = []
    for _ in range(rounds):
        players, share, met = _play_round(players, peak, hard)
        shares.append(((share * met).sum(), met.sum()))
    total = sum((pairs for _, pairs in shares), start=mask.new_zeros((), dtype=torch.long))
    winner_share = sum((share for share, _ in shares), start=scores.new_zeros(())) / total
    mixture = Mixture(players.members, players.weights, players.mask)
    return Tournament(mixture, players.heaviest, winner_share.detach())


def _play_round(players: _Players, peak: Peak, hard: bool) -> tuple[_Players, Tensor, Tensor]:
    """Play one round: half the players, in source order, the share of each better half, and which pairs were real."""
    ranked = players.scores.detach().masked_fill(~players.mask, -math.inf).argsort(dim=1, descending=True, stable=True)
    better, worse = ranked.chunk(2, dim=1)
    left, right = _take(players, better), _take(players, worse.flip(1))
    met = right.mask
    share = left.scores.new_ones(()) if hard else peak.share(left.scores, right.scores)
    share = torch.where(met, share, 1.0)  # (batch, players / 2)
    scores = torch.where(met, share * left.scores + (1 - share) * right.scores, left.scores)
    left_weight = share.detach() * left.heaviest_weight
    right_weight = (1 - share.detach()) * right.heaviest_weight
    joined = _Players(
        scores=scores,
        mask=left.mask,
        members=torch.cat([left.members, right.members], dim=2),
        weights=torch.cat([share[..., None] * left.weights, (1 - share)[..., None] * right.weights], dim=2),
        heaviest=torch.where(left_weight >= right_weight, left.heaviest, right.heaviest),
        heaviest_weight=torch.maximum(left_weight, right_weight),
    )
    return _take(joined, joined.heaviest.argsort(dim=1)), share, met


def _take(players: _Players, index: Tensor) -> _Players:
    """Pick players by index (batch, picked)."""
    deep = index[..., None].expand(-1, -1, players.members.size(2))
    return _Players(
        scores=players.scores.gather(1, index),
        mask=players.mask.gather(1, index),
        members=players.members.gather(1, deep),
        weights=players.weights.gather(1, deep),
        heaviest=players.heaviest.gather(1, index),
        heaviest_weight=players.heaviest_weight.gather(1, index),
    )


@final
class HalvingPooler(Pooler):
    """Plays the tournament and keeps its survivors."""

    def __init__(self, config: HalvingConfig, scorer: Scorer) -> None:
        super().__init__()
        self.config = config
        self.scorer = scorer

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim)."""
        if tokens.states.size(1) <= self.config.keep:
            return unchanged(tokens)
        hard = self.config.inference == "hard" and not self.training
        states = hide(tokens.states, tokens.mask)
        scores = self.scorer(tokens.with_states(states))
        tournament = halve(scores, tokens.mask, self.config.keep, self.config.peak, hard)
        mixture = tournament.mixture
        left = leave(tokens, mixture.combine(states), mixture.mask, tournament.heaviest)
        return Pooled(replace(left, figures={"winner_share": tournament.winner_share}), lambda: mixture)
