"""What every sentence encoder is."""

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
        """Build it for vectors of `dim` features."""


class SentenceEncoder(nn.Module, ABC):
    """Makes one vector of every sentence, whatever stands beside it."""

    @abstractmethod
    def forward(self, memory: Tokens, sentences: Sentences) -> Tensor:
        """Encode.

        Args:
            memory: What the encoder left.
            sentences: Where its sentences stand.

        Returns:
            (batch, sentences, dim), finite everywhere; what stands where a document has no such sentence means nothing.
        """
