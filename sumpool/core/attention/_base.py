"""What every self-attention of the encoder is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from sumpool.settings import Settings


class AttentionConfig(Settings, ABC):
    """Settings of one self-attention."""

    kind: str

    @abstractmethod
    def build(self, dim: int, heads: int) -> "Attention":
        """Build the layer for vectors of `dim` features."""


class Attention(nn.Module, ABC):
    """Mixes the vectors of one document with each other; owns its projections."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Mix.

        Args:
            states: (batch, length, dim), finite everywhere.
            mask: (batch, length), True at real tokens.

        Returns:
            (batch, length, dim); what stands at padding means nothing.
        """
