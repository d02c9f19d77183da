"""Sentence encoder interface."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from sumpool.core.nn.sentences import Sentences
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class SentenceEncoderConfig(Settings, ABC):
    """Settings of one sentence encoder."""

    kind: str

    @abstractmethod
    def build(self, dim: int) -> "SentenceEncoder":
        """Build the encoder for states of `dim` features."""


class SentenceEncoder(nn.Module, ABC):
    """Encodes every sentence as one vector, independently of other sentences."""

    @abstractmethod
    def forward(self, memory: Tokens, sentences: Sentences) -> Tensor:
        """Encode sentences.

        Args:
            memory: Output of the document encoder.
            sentences: Sentences of the memory.

        Returns:
            (batch, sentences, dim), finite everywhere; values at sentences that do not exist are undefined.
        """
