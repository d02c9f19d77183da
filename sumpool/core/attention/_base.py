"""Self-attention interface."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, attention_received
from sumpool.core.nn.positions import PositionsKind, build_positions
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class AttentionConfig(Settings, ABC):
    """Settings of one self-attention.

    Attributes:
        has_weights: Whether a `SoftmaxAttention` is built.
    """

    has_weights: ClassVar[bool] = False
    kind: str

    @property
    def max_length(self) -> int | None:
        """Maximum number of vectors of a document; None without a limit."""
        return None

    @abstractmethod
    def build(self, dim: int, heads: int) -> "Attention":
        """Build the attention for `dim` features and `heads` heads."""


class Attention(nn.Module):
    """Self-attention over the states of each document; by default every token attends to every token.

    Attributes:
        project: Joint projection to `projections` times dim features, by default queries, keys and values.
        out: Output projection of the merged heads.
        positions: Position encoding of queries and keys.
        heads: Number of heads.
    """

    block: int | None = None
    """Block size for chunked encoding: no token attends beyond its block of this many tokens, so a document may be
    split at any multiple. None if a document must be encoded in one piece."""

    def __init__(self, dim: int, heads: int, positions: PositionsKind = "none", projections: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dim, projections * dim)
        self.out = nn.Linear(dim, dim)
        self.positions = build_positions(positions, heads, dim // heads)

    def forward(self, tokens: Tokens) -> Tensor:
        """Attend: (batch, length, dim), undefined at padding, from states that are finite everywhere.

        Layouts follow `Tokens.lengths` where the host knows them, and `Tokens.full` saves masks.
        """
        out: Tensor = self.out(self._mix(tokens))
        return out

    def _mix(self, tokens: Tokens) -> Tensor:
        """Weighted sums of the values, heads merged, (batch, length, dim)."""
        mask = None if tokens.full else tokens.mask
        return merge_heads(attend(*self._project(tokens), mask, self.positions.bias(tokens.positions)))

    def _project(self, tokens: Tokens) -> tuple[Tensor, Tensor, Tensor]:
        """Position-encoded queries and keys, and values, (batch, heads, length, head_dim) each."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(tokens.states).chunk(3, dim=-1))
        return self.positions.rotate(query, tokens.positions), self.positions.rotate(key, tokens.positions), value


class SoftmaxAttention(Attention):
    """Attention with the weights of `Attention`, which scorers and distillation read."""

    def attention_received(self, tokens: Tokens, include_self: bool) -> Tensor:
        """Attention weight that each token receives from all tokens of its document, averaged over the heads.

        Args:
            tokens: As for `forward`.
            include_self: Whether the weight of a token on itself counts.

        Returns:
            (batch, length), 0 at padding; the mean over real tokens is 1 with `include_self`.
        """
        query, key, _ = self._project(tokens)
        return attention_received(query, key, tokens.mask, include_self, partial(self.positions.bias, tokens.positions))


def dynamic_lengths(tokens: Tokens) -> Sequence[int] | None:
    """Return the lengths of tokens; None under `torch.compile`, which would compile the layer again for others."""
    return None if torch.compiler.is_compiling() else tokens.lengths


def known_lengths(tokens: Tokens) -> Sequence[int]:
    """Return the number of real tokens of each document; where it is unknown, the host waits for the mask."""
    lengths = dynamic_lengths(tokens)
    known: Sequence[int] = tokens.mask.sum(1).tolist() if lengths is None else lengths
    return known
