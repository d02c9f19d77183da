"""What every cross-attention is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class CrossAttentionConfig(Settings, ABC):
    """Settings of one cross-attention."""

    kind: str

    @abstractmethod
    def build(self, dim: int, heads: int) -> "CrossAttention":
        """Build the layer for vectors of `dim` features."""


class CrossAttention(nn.Module, ABC):
    """Lets the summary see the document; owns its projections and what it keeps of the document."""

    @abstractmethod
    def remember(self, memory: Tokens) -> dict[str, Tensor]:
        """Project the document once; each value is batch first and is shared by all beams of a document."""

    @abstractmethod
    def forward(self, queries: Tensor, remembered: dict[str, Tensor]) -> Tensor:
        """See.

        Args:
            queries: (batch, target, dim); a search folds its beams into `target`.
            remembered: What `remember` returned for these documents.

        Returns:
            (batch, target, dim).
        """
