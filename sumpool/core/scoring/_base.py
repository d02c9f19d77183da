"""What every scorer is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class ScorerConfig(Settings, ABC):
    """Settings of one scorer."""

    kind: str

    @abstractmethod
    def build(self, dim: int) -> "Scorer":
        """Build the scorer for vectors of `dim` features."""


class Scorer(nn.Module, ABC):
    """Says how much each vector is worth keeping."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tensor:
        """Score.

        Returns:
            (batch, length), in [0, 1] at real tokens; any value at padding. A scorer draws at random in training only,
            from torch's generator; in evaluation mode a score depends on nothing but its document.
        """
