"""What every pooler is."""

from abc import ABC, abstractmethod

from torch import nn

from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class PoolerConfig(Settings, ABC):
    """Settings of one pooler."""

    kind: str

    @abstractmethod
    def build(self, dim: int) -> "Pooler":
        """Build the pooler for vectors of `dim` features."""


class Pooler(nn.Module, ABC):
    """Leaves fewer vectors; owns its scorer or its boundaries.

    Padding never changes a result, survivors keep their source order, and a document that already has no more
    vectors than the pooler keeps passes unchanged.
    """

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tokens:
        """Pool (batch, length, dim) to (batch, at most keep, dim)."""
