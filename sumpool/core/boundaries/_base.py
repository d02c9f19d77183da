"""What every source of boundaries is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from torch import Tensor, nn

from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class BoundariesConfig(Settings, ABC):
    """Settings of one source of boundaries."""

    kind: str

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
