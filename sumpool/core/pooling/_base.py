"""What every pooler is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.masking import hide
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings

Keep = Annotated[int, Field(ge=1, strict=True)] | Annotated[float, Field(gt=0, lt=1)]
"""Vectors that stay: a number, or a share of the real vectors of each document (1.0 might mean either: refused)."""

_MARGIN = 1e-9  # in double precision a share times a length is off by less


class PoolerConfig(Settings, ABC):
    """Settings of one pooler."""

    kind: str

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Pooler":
        """Build the pooler for vectors as long as those of the vocabulary's embedding, which it may read."""


@dataclass(frozen=True)
class Mixture:
    """Who stands behind every vector that is left: each is a weighted sum of vectors before the pooling.

    Attributes:
        members: (batch, keep, members), index of each; any index where the weight is 0.
        weights: (batch, keep, members), not negative; sums to 1 over the members of a real vector.
        mask: (batch, keep), True at real vectors, which stand first.
    """

    members: Tensor
    weights: Tensor
    mask: Tensor

    def combine(self, states: Tensor) -> Tensor:
        """Mix the vectors (batch, length, dim) behind every one that is left: (batch, keep, dim), 0 at padding."""
        batch, keep, members = self.members.shape
        first = torch.arange(batch, device=states.device)[:, None, None] * states.size(1)
        # A bag reads every vector once and never lays (batch, keep, members, dim) out in memory.
        mixed = F.embedding_bag(
            (self.members + first).view(batch * keep, members),
            states.flatten(0, 1),  # (batch * length, dim)
            per_sample_weights=self.weights.reshape(batch * keep, members).to(states.dtype),
            mode="sum",
        )
        return hide(mixed.view(batch, keep, -1), self.mask)

    def spread(self, states: Tensor, length: int) -> Tensor:
        """Undo the pooling as far as that can be done: every vector before it gets back those that it stands behind.

        Args:
            states: (batch, keep, dim), one for every vector that is left.
            length: Vectors before the pooling.

        Returns:
            (batch, length, dim), the mean by weight; 0 where a vector stands behind none. No gradient reaches the
            weights.
        """
        batch = self.members.size(0)
        weights = self.weights.detach().to(states.dtype) * self.mask[..., None]
        index = self.members.reshape(batch, -1)  # (batch, keep * members)
        given = (hide(states, self.mask)[:, :, None] * weights[..., None]).flatten(1, 2)  # (batch, keep * members, dim)
        total = weights.new_zeros(batch, length).scatter_add(1, index, weights.reshape(batch, -1))
        spread = states.new_zeros(batch, length, states.size(2))
        spread = spread.scatter_add(1, index[..., None].expand(-1, -1, states.size(2)), given)
        return spread / total.masked_fill(total == 0, 1.0)[..., None]


@dataclass(frozen=True)
class Pooled:
    """What a pooling leaves.

    Attributes:
        tokens: Fewer vectors, in source order.
        mixture: Says who stands behind each of them; worked out only when it is called.
    """

    tokens: Tokens
    mixture: Callable[[], Mixture]


class Pooler(nn.Module, ABC):
    """Leaves fewer vectors; owns its scorer or its boundaries.

    Padding never changes a result, survivors keep their source order, and a document that already has no more
    vectors than the pooler keeps passes unchanged.
    """

    @abstractmethod
    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, fewer, dim)."""


def kept(keep: Keep, mask: Tensor) -> Tensor:
    """Vectors that each document keeps, (batch,), from 1 to its number of real vectors; 0 where it has none.

    Args:
        keep: A number, or a share of the real vectors, rounded up.
        mask: (batch, length), True at real vectors.
    """
    real = mask.sum(1)
    if isinstance(keep, int):
        return real.clamp(max=keep)
    return (real.double() * keep - _MARGIN).ceil().long().clamp(min=0)


def most_kept(keep: Keep, length: int) -> int:
    """Vectors that a document keeps that fills the whole length."""
    return min(keep, length) if isinstance(keep, int) else math.ceil(length * keep - _MARGIN)


def best(scores: Tensor, mask: Tensor, keep: Keep) -> tuple[Tensor, Tensor]:
    """Find the best vectors of each document.

    Args:
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real vectors.
        keep: How many; of equal scores the first in the source counts as better.

    Returns:
        Index of each (batch, keep), the best first, and True where a document has so many, (batch, keep).
    """
    ranked = scores.detach().masked_fill(~mask, -math.inf).argsort(dim=1, descending=True, stable=True)
    found = ranked[:, : most_kept(keep, scores.size(1))]
    return found, torch.arange(found.size(1), device=scores.device) < kept(keep, mask)[:, None]


def leave(tokens: Tokens, states: Tensor, mask: Tensor, heaviest: Tensor) -> Tokens:
    """Make the tokens that are left.

    Args:
        tokens: The tokens before the pooling.
        states: (batch, keep, dim), the vectors that are left.
        mask: (batch, keep), True at real ones.
        heaviest: (batch, keep), index of the heaviest vector behind each; any at padding.
    """
    index = heaviest.clamp(0, tokens.mask.size(1) - 1)
    return replace(
        tokens,
        states=hide(states, mask),
        mask=mask,
        positions=tokens.positions.gather(1, index),
        sentences=tokens.sentences.gather(1, index),
        words=tokens.words.gather(1, index),
        ids=tokens.ids.gather(1, index),
        origin=tokens.origin.gather(1, index),
        phrases=None if tokens.phrases is None else tokens.phrases.gather(1, index),
        received=None,
    )


def unchanged(tokens: Tokens) -> Pooled:
    """Leave everything as it is: every vector stands behind itself."""

    def mixture() -> Mixture:
        members = tokens.mask.new_ones(tokens.mask.shape).cumsum(1)[..., None] - 1
        return Mixture(members, tokens.mask[..., None].to(tokens.states.dtype), tokens.mask)

    return Pooled(replace(tokens, received=None), mixture)
