"""Cross-attention interface."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import dot_product_attention
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


@dataclass(frozen=True)
class CrossAttentionOutput:
    """Output of a cross-attention or of a decoder layer.

    Attributes:
        states: (batch, target, dim).
        losses: Auxiliary losses by name, scalars, means over the documents; the decoder averages them over its layers.
        metrics: Detached scalar metrics by name, logged to metrics.jsonl.
    """

    states: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)


class MemoryEncoder(nn.Module):
    """Computation on the memory that all decoder layers share; none by default."""

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Return the shared tensors, batch first."""
        del memory
        return {}


class CrossAttentionConfig(Settings, ABC):
    """Settings of one cross-attention."""

    kind: str
    optional_losses: ClassVar[tuple[str, ...]] = ()
    """Auxiliary losses beside those that train the setting `selection`."""

    @abstractmethod
    def build(self, dim: int, heads: int) -> "CrossAttention":
        """Build one layer for states of `dim` features."""

    def build_memory_encoder(self, dim: int) -> MemoryEncoder:
        """Build the computation that all layers share."""
        del dim
        return MemoryEncoder()

    @property
    def selection_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the setting `selection`; empty without such a setting."""
        return ()


class CrossAttention(nn.Module, ABC):
    """Attention from the summary to the memory; owns its projections and what it precomputes of a document.

    Attributes:
        heads: Number of heads.
        query: Projection of the queries.
        key_value: Joint projection of the memory to keys and values.
        out: Output projection of the merged heads.
    """

    def __init__(self, dim: int, heads: int, linear: type[nn.Linear] = nn.Linear) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    @abstractmethod
    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project the memory once for all decoding steps; tensors are batch first and shared by a document's beams.

        Args:
            memory: Output of the encoder.
            shared: Result of the memory encoder of the same settings.
        """

    def forward(
        self, queries: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None = None
    ) -> CrossAttentionOutput:
        """Attend from whole summaries, as in training; by default to the precomputed key, value and bias of each head.

        Args:
            queries: (batch, target, dim).
            precomputed: Result of `precompute` for the documents.
            mask: (batch, target), True at the tokens that count in losses and metrics; None where all do.
        """
        del mask
        key, value, bias = (precomputed[name] for name in ("key", "value", "bias"))
        attended = dot_product_attention(self._split_query(queries), key, value, bias)
        return CrossAttentionOutput(self.out(merge_heads(attended)))

    def step(self, queries: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Attend from the newest token of every beam.

        Args:
            queries: (batch, beams, dim).
            precomputed: Result of `precompute` for the documents.

        Returns:
            (batch, beams, dim), equal to the result of `forward`.
        """
        return self.forward(queries, precomputed).states

    def attention_weights(self, queries: Tensor, precomputed: dict[str, Tensor], length: int) -> Tensor:
        """Compute the attention weights of whole summaries, by default to the precomputed keys of each head.

        Args:
            queries: (batch, target, dim).
            precomputed: Result of `precompute` for the documents.
            length: States of the memory.

        Returns:
            (batch, heads, target, length), in at least single precision; rows sum to 1. A head that sees no state has
            weights at padding only.
        """
        del length
        return softmax_scores(self._split_query(queries), precomputed["key"], precomputed["bias"])

    def _split_query(self, queries: Tensor) -> Tensor:
        """Project queries (batch, target, dim): (batch, heads, target, head_dim)."""
        return split_heads(self.query(queries), self.heads)


def softmax_scores(query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
    """Softmax of scaled dot products plus a bias, (batch, heads, target, length)."""
    scores = at_least_float32(query @ key.transpose(2, 3)) / query.size(-1) ** 0.5
    weights: Tensor = (scores + bias).softmax(-1)
    return weights
