"""Pooler interface, and selection by score."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.states import Mixture
from sumpool.core.scoring import LinearScorerConfig, ScorerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import OneOf, VariantSettings

Keep = Annotated[int, Field(ge=1, le=10_000_000, strict=True)] | Annotated[float, Field(gt=0, lt=1)]
"""Vectors to keep: a number, or a fraction of each document's real vectors (1.0 is ambiguous and rejected)."""

_ROUNDING_MARGIN = 1e-12  # exceeds the relative rounding error of fraction * length in double precision


class PoolerConfig(VariantSettings):
    """Settings of one pooler."""

    @property
    def boundary_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the setting `boundaries`; empty without such a setting."""
        return ()

    @property
    def requires_phrases(self) -> bool:
        """Whether training needs the phrases of the data (`data.phrases`)."""
        return False

    def build(self, embedding: nn.Embedding) -> "Pooler":
        """Build the pooler.

        Args:
            embedding: Token embedding; gives the number of features and, for boundaries, the vocabulary size.
        """
        pooler: Pooler = self.variant_class(self, embedding)
        return pooler


class ScoredPoolerConfig(PoolerConfig):
    """Settings of one pooler that selects by score."""

    keep: Keep = 512
    """Vectors to keep: a number, or a fraction of each document's real vectors."""
    scorer: Annotated[ScorerConfig, OneOf("sumpool.core.scoring")] = LinearScorerConfig()
    """Scorer of the vectors."""


@dataclass(frozen=True)
class Pooled:
    """Output of a pooler.

    Attributes:
        tokens: Pooled tokens, in source order.
        mixture: Returns the weights of the input vectors in each pooled vector, computed on call.
    """

    tokens: Tokens
    mixture: Callable[[], Mixture]


class Pooler(nn.Module, ABC):
    """Shorten documents, scorer or boundaries included.

    Results are independent of padding, pooled vectors keep their source order, and a document that already has no more
    vectors than the pooler keeps is returned unchanged.
    """

    def __init__(self, config: PoolerConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        del embedding
        self.config = config

    @abstractmethod
    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim)."""


class ScoredPooler(Pooler):
    """Pooler that selects by score."""

    config: ScoredPoolerConfig

    def __init__(self, config: ScoredPoolerConfig, embedding: nn.Embedding) -> None:
        super().__init__(config, embedding)
        self.scorer = config.scorer.build(embedding.embedding_dim)

    def _keeps_all(self, tokens: Tokens) -> bool:
        length = tokens.mask.size(1)
        return max_kept(self.config.keep, length) == length

    def _pool(self, tokens: Tokens, states: Tensor, mask: Tensor, heaviest: Tensor) -> Tokens:
        """Return what `pool_tokens` does, with as many vectors of each document as are kept."""
        lengths = tokens.lengths and [max_kept(self.config.keep, real) for real in tokens.lengths]
        return pool_tokens(tokens, states, mask, heaviest, lengths)


def keep_counts(keep: Keep, mask: Tensor) -> Tensor:
    """Vectors kept of each document, (batch,): at least 1, at most its real vectors; 0 for an empty document.

    Args:
        keep: A number, or a fraction of the real vectors, rounded up.
        mask: (batch, length), True at real vectors.
    """
    real = mask.sum(1)
    if isinstance(keep, int):
        return real.clamp(max=keep)
    return (real.double() * keep * (1 - _ROUNDING_MARGIN)).ceil().long()


def max_kept(keep: Keep, length: int) -> int:
    """Vectors kept of a document of a length without padding, as `keep_counts` computes them."""
    return min(keep, length) if isinstance(keep, int) else math.ceil(length * keep * (1 - _ROUNDING_MARGIN))


def top_k(scores: Tensor, mask: Tensor, keep: Keep) -> tuple[Tensor, Tensor]:
    """Indices of the best-scored vectors of each document.

    Args:
        scores: (batch, length), any value at padding.
        mask: (batch, length), True at real vectors.
        keep: Number or fraction of vectors; ties go to the first in the source.

    Returns:
        Indices (batch, keep) by descending score, and their mask (batch, keep).
    """
    order = scores.detach().masked_fill(~mask, -math.inf).argsort(dim=1, descending=True, stable=True)
    indices = order[:, : max_kept(keep, scores.size(1))]
    return indices, torch.arange(indices.size(1), device=scores.device) < keep_counts(keep, mask)[:, None]


def pool_tokens(
    tokens: Tokens, states: Tensor, mask: Tensor, heaviest: Tensor, lengths: Sequence[int] | None
) -> Tokens:
    """Tokens after a pooling, with the source data of the heaviest input vector of each pooled vector.

    Args:
        tokens: Tokens ahead of the pooling.
        states: (batch, keep, dim), pooled vectors.
        mask: (batch, keep), True at real pooled vectors.
        heaviest: (batch, keep), index of the heaviest input vector; any value at padding.
        lengths: Real pooled vectors of each document; None where the host does not know them.
    """
    index = heaviest.clamp(0, tokens.mask.size(1) - 1)
    return replace(
        tokens.map_origins(lambda values: values.gather(1, index)),
        states=zero_padding(states, mask),
        mask=mask,
        attention_received=None,
        first=None,
        lengths=lengths,
        full=lengths is not None and min(lengths, default=0) == mask.size(1),
    )


def keep_all(tokens: Tokens) -> Pooled:
    """Pooling that keeps all vectors unchanged."""

    def mixture() -> Mixture:
        members = torch.arange(tokens.mask.size(1), device=tokens.mask.device).expand(tokens.mask.shape)
        return Mixture(members[..., None], tokens.mask[..., None].to(tokens.states.dtype), tokens.mask)

    return Pooled(replace(tokens, attention_received=None), mixture)
