"""Scorer interface."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class ScorerConfig(Settings, ABC):
    """Settings of one scorer."""

    kind: str

    @abstractmethod
    def build(self, dim: int) -> "Scorer":
        """Build the scorer for states of `dim` features."""


class Scorer(nn.Module, ABC):
    """Importance score of each state, by which poolers select."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tensor:
        """Score.

        Returns:
            (batch, length), in [0, 1] at real tokens; undefined at padding. Only in training may a scorer draw from
            torch's global generator; in evaluation mode a score depends on the document alone.
        """
