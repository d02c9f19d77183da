"""Sentence selection interface."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from sumpool.core.nn.sentences import Sentences
from sumpool.core.sentence_encoding._base import SentenceEncoder
from sumpool.settings import Settings


class SelectionConfig(Settings, ABC):
    """Settings of one selection."""

    kind: str

    losses: ClassVar[tuple[str, ...]] = ()
    """Auxiliary losses that train the selection."""

    @abstractmethod
    def build(self, dim: int, heads: int) -> "Selection":
        """Build the selection for one decoder layer with states of `dim` features."""

    def build_encoder(self, dim: int) -> SentenceEncoder | None:
        """Build the sentence encoder that all layers share; None where the selection needs none."""
        del dim
        return None


class Selection(nn.Module, ABC):
    """Distribution of each summary token over the sentences of the document."""

    @abstractmethod
    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Compute what the selection needs of a document once for all decoding steps.

        Args:
            key: (batch, heads, length, head_dim), keys of the layer's word attention, finite everywhere.
            mask: (batch, length), True at real states.
            sentences: Sentences of the memory.
            vectors: (batch, sentences, dim), output of the sentence encoder of the same settings; None without one.

        Returns:
            Tensors, batch first, shared by all beams of a document.
        """

    @abstractmethod
    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences.

        Args:
            states: (batch, target, dim), input of the cross-attention.
            query: (batch, heads, target, head_dim), queries of the layer's word attention.
            precomputed: Result of `precompute` for the documents.

        Returns:
            (batch, heads, target, sentences), logarithms of weights that sum to 1 over existing sentences; -inf at
            others.
        """
