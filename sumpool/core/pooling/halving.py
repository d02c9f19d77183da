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

from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import EagerStates, States
from sumpool.core.pooling._base import Keep, Pooled, Pooler, PoolerConfig, kept, leave, most_kept, unchanged
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.scoring.linear import LinearScorerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings
from sumpool.variants import OneOf

PeakKind = Literal["double_exponential", "scaled", "plain"]
Sort = Literal["each_round", "once", "never"]


class Peak(Settings):
    """How much of a pair its better half takes: sigmoid(f(better) - f(worse)) of the two scores."""

    kind: PeakKind = "double_exponential"
    """f(v) = base ** v (released code), base * v (Goyal et al., 2017), or v (the paper's equation 6)."""
    base: float = Field(20.0, gt=1)
    """Base of the exponential, or the factor of scaled; plain has none."""

    def share(self, left: Tensor, right: Tensor) -> Tensor:
        """Weigh the left halves of pairs of scores, shapes alike: at least .5 where the left is the better."""
        if self.kind == "double_exponential":
            return (self.base**left - self.base**right).sigmoid()
        factor = self.base if self.kind == "scaled" else 1.0
        return (factor * (left - right)).sigmoid()


@final
class HalvingPoolerConfig(PoolerConfig):
    """Settings of successive halving."""

    kind: Literal["halving"] = "halving"
    keep: Keep = 512
    """Vectors that stay: a number, or a share of each document's own."""
    scorer: Annotated[ScorerConfig, OneOf("sumpool.core.scoring")] = LinearScorerConfig()
    """What a vector is worth."""
    peak: Peak = Peak()
    """How much of a pair its better half takes."""
    sort: Sort = "each_round"
    """When the best are made to meet the worst: each_round (the paper), once (whoever won goes on in the rank of the
    better half), or never (the first place meets the last, the paper's ablation)."""
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
class _Round:
    """Who met whom, and what came of it.

    Attributes:
        ranked: (batch, players), who stood at each rank; None where players stand in the order of the round before.
        places: (batch, 1), ranks after the round; rank i met rank 2 * places - 1 - i.
        share: (batch, players / 2), what the lower rank of a pair took; 1 where it met nobody.
    """

    ranked: Tensor | None
    places: Tensor
    share: Tensor


def halve(
    scores: Tensor, mask: Tensor, keep: Keep, peak: Peak, hard: bool = False, sort: Sort = "each_round"
) -> Tournament:
    """Play the tournament on scores.

    Every document plays its own, to its own size: with `rounds` rounds it has kept * 2 ** rounds places, at least as
    many as vectors, and whose place at the other end is empty goes on unchanged.

    Args:
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens, which stand first.
        keep: Survivors; fewer where a document has fewer real tokens.
        peak: How much of a pair its better half takes.
        hard: The better half takes all, which is exactly top-k unless `sort` is never.
        sort: When the best are made to meet the worst.

    Returns:
        Survivors in source order.
    """
    most = most_kept(keep, scores.size(1))
    ratio = scores.size(1) / keep if isinstance(keep, int) else 1 / keep
    rounds = max(0, math.ceil(math.log2(ratio)))
    players = F.pad(at_least_float32(scores).masked_fill(~mask, 0.0), (0, most * 2**rounds - scores.size(1)))
    places = kept(keep, mask)[:, None] << rounds  # (batch, 1)
    real = mask.sum(1, keepdim=True)
    played: list[_Round] = []
    total, pairs = players.new_zeros(()), real.new_zeros(())
    for number in range(rounds):
        ranked: Tensor | None = None
        if sort == "each_round" or (sort == "once" and number == 0):
            players, ranked = _rank(players, real)
        places = places // 2
        players, share, met = _meet(players, real, places, peak, hard)
        real = real.minimum(places)
        played.append(_Round(ranked, places, share))
        winners = torch.where(met, share.detach().maximum(1 - share.detach()), 0.0)
        total, pairs = total + winners.sum(), pairs + met.sum()
    mask = torch.arange(most, device=real.device) < real  # (batch, keep)
    mixture, heaviest = _trace(played, mask, scores.size(1), players.dtype)
    return Tournament(mixture, heaviest, total / pairs)


def _rank(scores: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Sort the first `real` (batch, 1) of the scores (batch, players), best first; of equals the first stays first."""
    absent = torch.arange(scores.size(1), device=scores.device) >= real
    ranked = scores.masked_fill(absent, -math.inf).sort(dim=1, descending=True, stable=True)
    return ranked.values.masked_fill(absent, 0.0), ranked.indices


def _meet(scores: Tensor, real: Tensor, places: Tensor, peak: Peak, hard: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Let rank i meet rank 2 * places - 1 - i: scores of those that go on, share of the lower rank, who met."""
    rank = torch.arange(scores.size(1) // 2, device=scores.device)
    partner = 2 * places - 1 - rank  # (batch, players / 2)
    met = (rank < places) & (partner < real)
    left = scores[:, : len(rank)]
    right = scores.gather(1, partner.clamp(min=0))
    share = (left >= right).to(scores.dtype) if hard else peak.share(left, right)
    share = torch.where(met, share, 1.0)
    return torch.lerp(right, left, share), share, met


def _trace(played: list[_Round], mask: Tensor, length: int, dtype: torch.dtype) -> tuple[Mixture, Tensor]:
    """Go back from the survivors, True in mask (batch, keep), to the vectors behind them."""
    members = mask.new_ones(mask.shape).cumsum(1)[..., None] - 1  # (batch, keep, 1)
    weights = mask[..., None].to(dtype)
    for each in reversed(played):
        share = each.share.gather(1, members.flatten(1)).view_as(members)
        partner = (2 * each.places[..., None] - 1 - members).clamp(min=0)
        members = torch.cat([members, partner], dim=2)  # (batch, keep, twice as many)
        weights = torch.cat([weights * share, weights * (1 - share)], dim=2)
        if each.ranked is not None:
            members = each.ranked.gather(1, members.flatten(1)).view_as(members)
    members = members.clamp(max=length - 1)
    heaviest = members.gather(2, weights.detach().argmax(2, keepdim=True))[..., 0]
    heaviest, order = heaviest.masked_fill(~mask, length).sort(dim=1)
    deep = order[..., None].expand_as(members)
    return Mixture(members.gather(1, deep), weights.gather(1, deep), mask), heaviest


@final
class HalvingPooler(Pooler):
    """Plays the tournament and keeps its survivors."""

    def __init__(self, config: HalvingPoolerConfig, scorer: Scorer) -> None:
        super().__init__()
        self.config = config
        self.scorer = scorer

    def forward(self, tokens: Tokens, vectors: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim); see `Pooler.forward`."""
        vectors = vectors or EagerStates(tokens)
        if most_kept(self.config.keep, tokens.mask.size(1)) == tokens.mask.size(1):
            return unchanged(vectors.all())
        hard = self.config.inference == "hard" and not self.training
        scores = vectors.score(self.scorer)
        tournament = halve(scores, tokens.mask, self.config.keep, self.config.peak, hard, self.config.sort)
        mixture = tournament.mixture
        left = leave(tokens, vectors.mix(mixture), mixture.mask, tournament.heaviest)
        return Pooled(replace(left, metrics={"winner_share": tournament.winner_share}), lambda: mixture)
