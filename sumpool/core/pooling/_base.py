"""What every pooler is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.states import States
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings

Keep = Annotated[int, Field(ge=1, strict=True)] | Annotated[float, Field(gt=0, lt=1)]
"""Vectors that stay: a number, or a share of the real vectors of each document (1.0 might mean either: refused)."""

_MARGIN = 1e-9  # in double precision a share times a length is off by less


class PoolerConfig(Settings, ABC):
    """Settings of one pooler."""

    kind: str

    @property
    def boundary_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the setting `boundaries`; empty without such a setting."""
        return ()

    @property
    def requires_phrases(self) -> bool:
        """Whether training needs the phrases of the data (`data.phrases`)."""
        return False

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Pooler":
        """Build the pooler for vectors as long as those of the vocabulary's embedding, which it may read."""


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
    def forward(self, tokens: Tokens, vectors: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, fewer, dim).

        Args:
            tokens: The tokens.
            vectors: Where their vectors are to be had if not from `tokens`; a pooling for which scores and weighted
                sums are enough asks for no more.
        """


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
        states=zero_padding(states, mask),
        mask=mask,
        positions=tokens.positions.gather(1, index),
        sentences=tokens.sentences.gather(1, index),
        words=tokens.words.gather(1, index),
        ids=tokens.ids.gather(1, index),
        origin=tokens.origin.gather(1, index),
        phrases=None if tokens.phrases is None else tokens.phrases.gather(1, index),
        attention_received=None,
        first=None,
        full=False,
    )


def unchanged(tokens: Tokens) -> Pooled:
    """Leave everything as it is: every vector stands behind itself."""

    def mixture() -> Mixture:
        members = tokens.mask.new_ones(tokens.mask.shape).cumsum(1)[..., None] - 1
        return Mixture(members, tokens.mask[..., None].to(tokens.states.dtype), tokens.mask)

    return Pooled(replace(tokens, attention_received=None), mixture)
