"""What every source of boundaries is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class BoundariesConfig(Settings, ABC):
    """Settings of one source of boundaries."""

    kind: str

    losses: ClassVar[tuple[str, ...]] = ()
    """Auxiliary losses that it learns by."""
    requires_phrases: ClassVar[bool] = False
    """Whether training needs the phrases of the data (`data.phrases`)."""

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Boundaries":
        """Build it for vectors as long as those of the vocabulary's embedding, which it may read."""


@dataclass(frozen=True)
class Segmentation:
    """Where segments end.

    Attributes:
        ends: (batch, length), 1 at the last token of a segment, else 0, as numbers that may carry a gradient; any
            value at padding. The last real token of a document always ends one, whatever stands there.
        losses: Auxiliary losses by name, scalars, each a mean over the documents.
    """

    ends: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)


class Boundaries(nn.Module, ABC):
    """Cuts documents into segments."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Segmentation:
        """Cut (batch, length, dim) into segments."""


def ends_of_runs(numbers: Tensor, mask: Tensor) -> Tensor:
    """Mark the tokens whose successor has another number, and the last real token: (batch, length).

    Args:
        numbers: (batch, length), such as the numbers of sentences; any value at padding.
        mask: (batch, length), True at real tokens.
    """
    goes_on = (numbers[:, 1:] == numbers[:, :-1]) & mask[:, 1:]
    return ~F.pad(goes_on, (0, 1))


def document_mean(values: Tensor, counted: Tensor) -> Tensor:
    """Average over the counted tokens of each document, then over the documents; one without any counts as 0.

    Args:
        values: (batch, length), any value where `counted` is False.
        counted: (batch, length).

    Returns:
        A scalar in at least single precision.
    """
    total = at_least_float32(values).masked_fill(~counted, 0.0).sum(1)
    return (total / counted.sum(1).clamp(min=1)).mean()
