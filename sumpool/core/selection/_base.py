"""What every selection of sentences is."""

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
        """Build it for one layer of the decoder, whose vectors have `dim` features."""

    def build_encoder(self, dim: int) -> SentenceEncoder | None:
        """Build what encodes sentences for all layers; None where nothing has to."""
        del dim
        return None


class Selection(nn.Module, ABC):
    """Says how much each sentence matters to a token of the summary."""

    @abstractmethod
    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep what it takes of a document.

        Args:
            key: (batch, heads, length, head_dim), keys of the layer's word attention, finite everywhere.
            mask: (batch, length), True at real vectors.
            sentences: Where the sentences stand.
            vectors: (batch, sentences, dim), what the sentence encoder of the same settings made of them; None where
                there is none.

        Returns:
            Tensors, batch first, shared by all beams of a document.
        """

    @abstractmethod
    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Share attention out among the sentences.

        Args:
            states: (batch, target, dim), what the cross-attention was given.
            query: (batch, heads, target, head_dim), queries of the layer's word attention.
            precomputed: What `precompute` returned for these documents.

        Returns:
            (batch, heads, target, sentences), logarithms of shares that sum to 1 over the sentences of a document; -inf
            where it has no such sentence.
        """
