"""Boundary predictor interface: where segments end."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, final

from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class BoundariesConfig(Settings, ABC):
    """Settings of one boundary predictor."""

    kind: str

    losses: ClassVar[tuple[str, ...]] = ()
    """Names of the auxiliary losses that train it."""
    requires_phrases: ClassVar[bool] = False
    """Whether training needs the phrases of the data (`data.phrases`)."""

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Boundaries":
        """Build the predictor.

        Args:
            embedding: Token embedding; gives the vocabulary size and the number of features.
        """


@dataclass(frozen=True)
class Segmentation:
    """Segment ends of a batch.

    Attributes:
        ends: (batch, length) float, 1 at the last token of a segment, else 0, possibly with a gradient; undefined at
            padding. The last real token of a document always ends a segment, whatever its value.
        losses: Auxiliary losses by name, scalars, each a mean over the documents.
    """

    ends: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)


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
        mask: (batch, length), True at real tokens.
    """
    return document_mean(F.binary_cross_entropy_with_logits(logits, ends.to(logits.dtype), reduction="none"), mask)
