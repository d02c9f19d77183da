"""Boundary predictor interface: where segments end."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32, hash_uniform
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class BoundariesConfig(Settings, ABC):
    """Settings of one boundary predictor."""

    kind: str

    losses: ClassVar[tuple[str, ...]] = ()
    """Names of the auxiliary losses that train it."""
    requires_phrases: ClassVar[bool] = False
    """Whether training needs the phrases of the data (`data.phrases`)."""
    supervised: ClassVar[bool] = False
    """Whether targets of the boundaries are needed in training."""

    @property
    def causal(self) -> bool:
        """Whether `build_causal` decides on each token without later ones."""
        return True

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Boundaries":
        """Build the predictor.

        Args:
            embedding: Token embedding; gives the vocabulary size and the number of features.
        """

    def build_causal(self, embedding: nn.Embedding, separators: Tensor, seed: int) -> "Boundaries":
        """Build the predictor of a language model, which decides on each token from its state, id and index alone.

        Args:
            embedding: As in `build`.
            separators: (vocab,), True at tokens that end a word, such as a space.
            seed: Seed of random decisions in evaluation.
        """
        del separators, seed
        return self.build(embedding)


@dataclass(frozen=True)
class Segmentation:
    """Segment ends of a batch.

    Attributes:
        ends: (batch, length) float, 1 at the last token of a segment, else 0, possibly with a gradient; undefined at
            padding. The last real token of a document always ends a segment, whatever its value.
        losses: Auxiliary losses by name, scalars, each a mean over the documents.
        spike_loss: Computes the loss `boundaries` from the entropy of the model's predictions, (batch, length), where
            the predictor learns from it.
    """

    ends: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    spike_loss: Callable[[Tensor], Tensor] | None = None


class Boundaries(nn.Module, ABC):
    """Predict the segment ends of documents."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Segmentation:
        """Predict the segment ends (batch, length)."""


def run_ends(indices: Tensor, mask: Tensor) -> Tensor:
    """True at the last token of each run of equal indices, (batch, length).

    Args:
        indices: (batch, length), such as sentence indices; any value at padding.
        mask: (batch, length), True at real tokens.
    """
    continues = (indices[:, 1:] == indices[:, :-1]) & mask[:, 1:]
    return ~F.pad(continues, (0, 1))


def document_mean(values: Tensor, counted: Tensor) -> Tensor:
    """Mean over the counted tokens of each document, then over the documents; 0 for a document without any.

    Args:
        values: (batch, length), any value where `counted` is False.
        counted: (batch, length).

    Returns:
        A scalar in at least single precision.
    """
    total = at_least_float32(values).masked_fill(~counted, 0.0).sum(1)
    return (total / counted.sum(1).clamp(min=1)).mean()


@final
class Predictor(nn.Module):
    """Logit of a segment end for each token, from its state alone: linear, GELU, linear (Nawrot et al.)."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, hidden)
        self.decide = nn.Linear(hidden, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Logits (batch, length), finite everywhere; positive where an end is more likely than not."""
        hidden = F.gelu(self.widen(zero_padding(tokens.states, tokens.mask)))
        return at_least_float32(self.decide(hidden).squeeze(-1))


def boundary_loss(logits: Tensor, ends: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of the logits against target ends, a scalar in nats per token.

    Args:
        logits: (batch, length), finite everywhere.
        ends: (batch, length), True at the target ends.
        mask: (batch, length), True at tokens that count.
    """
    return document_mean(F.binary_cross_entropy_with_logits(logits, ends.to(logits.dtype), reduction="none"), mask)


def uniform_draws(tokens: Tokens, seed: int | None) -> Tensor:
    """Draw a number in [0, 1) for each token, (batch, length), independent of padding and batch mates.

    Args:
        tokens: Tokens; the draw depends on index and id.
        seed: The same seed gives the same draws; None takes a new seed from torch's CPU generator.
    """
    if seed is None:
        seed = int(torch.randint(2**31, ()).item())
    mixed = tokens.indices * 0x9E3779B1 + tokens.ids * 0x85EBCA77 + (seed * 0xC2B2AE3D & 0xFFFFFFFF)
    return hash_uniform(mixed & 0xFFFFFFFF)
