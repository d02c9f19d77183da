"""What every self-attention of the encoder is."""

from abc import ABC, abstractmethod

import torch
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

    block: int | None = None
    """A document may be cut after every so many tokens, and none sees across a cut; None where all may be seen."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Mix.

        Args:
            states: (batch, length, dim), finite everywhere.
            mask: (batch, length), True at real tokens; None where all are, which is faster.
            positions: (batch, length), places in the source; after pooling they have gaps.

        Returns:
            (batch, length, dim); what stands at padding means nothing.
        """

    @abstractmethod
    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum the attention that each token gets from all tokens of its document, averaged over the heads.

        Args:
            states: As for `forward`.
            mask: (batch, length), True at real tokens.
            positions: As for `forward`.
            itself: Whether what a token gives itself counts.

        Returns:
            (batch, length), one on average where `itself` counts; 0 at padding.
        """


def all_real(states: Tensor) -> Tensor:
    """Make the mask of documents (batch, length, dim) without padding."""
    return torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
