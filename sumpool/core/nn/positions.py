"""Token embeddings with absolute positions, and position encodings within attention: rotary and relative.

Rotary and relative encodings use the source positions that travel with the states, not their indices: pooling leaves
gaps, and pooled states keep their distance in the source. Only differences of positions matter.
"""

import math
from typing import Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.nn.layers import Dropout
from sumpool.core.nn.masking import zero_padding

AbsolutePositions = Literal["sinusoidal", "learned", "none"]
PositionsKind = Literal["none", "rotary", "relative"]

BUCKETS = 32
"""Buckets of distances in each direction."""
MAX_DISTANCE = 8192
"""Larger distances share a bucket."""


def sinusoid(positions: Tensor, dim: int, *, inclusive: bool = True) -> Tensor:
    """Sinusoidal position encoding (Vaswani et al., 2017, section 3.5), sines in the first half, cosines in the second.

    Args:
        positions: (...), counted from 0.
        dim: Number of features, even.
        inclusive: Whether 1/10000 is a frequency. With it frequency i of half = dim / 2 is 10000^(-i / (half - 1)), as
            in tensor2tensor and fairseq, on which the released code of the summarisers builds; without it
            10000^(-i / half), as in the paper, Transformer-XL and the released language models with dynamic pooling.

    Returns:
        (..., dim), float32.
    """
    half = dim // 2
    decay = torch.arange(half, device=positions.device) * (-math.log(10000.0) / max(half - inclusive, 1))
    angle = positions[..., None].float() * decay.exp()
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@final
class Embed(nn.Module):
    """Sum of token and position embeddings, with optional layer normalisation."""

    def __init__(
        self,
        embedding: nn.Embedding,
        positions: AbsolutePositions,
        max_length: int,
        *,
        scaled: bool,
        normalised: bool,
        dropout: float,
    ) -> None:
        """Build the layer.

        Args:
            embedding: Token embeddings, shared with other layers.
            positions: Kind of the position embeddings.
            max_length: Positions of learned position embeddings.
            scaled: Whether token embeddings are multiplied by the square root of their dimension.
            normalised: Whether layer normalisation is applied to the sum.
            dropout: Dropout on the result.
        """
        super().__init__()
        dim = embedding.embedding_dim
        self.embedding = embedding
        self.scale = dim**0.5 if scaled else 1.0
        self.kind = positions
        self.positions = nn.Embedding(max_length, dim) if positions == "learned" else None
        self.norm = nn.LayerNorm(dim) if normalised else nn.Identity()
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """Embed tokens.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            positions: (batch, length), counted from 0.

        Returns:
            (batch, length, dim).
        """
        states = zero_padding(self.embedding(ids), mask) * self.scale
        if self.positions is not None:
            states = states + self.positions(positions)
        elif self.kind == "sinusoidal":
            states = states + sinusoid(positions, states.size(-1)).to(states.dtype)
        embedded: Tensor = self.norm(states)
        if not self.training:
            return embedded
        # A state of which no feature would remain stays as it is: zero biases keep a state of zeros at zero, and every
        # layer normalisation multiplies its gradient by 1 / sqrt(eps), which is 316: six layers with post-norm exceed
        # the range of float32.
        dropped: Tensor = self.dropout(embedded)
        return torch.where(dropped.any(-1, keepdim=True), dropped, embedded)


class AttentionPositions(nn.Module):
    """Position encoding within an attention; by default there is none."""

    def rotate(self, states: Tensor, positions: Tensor) -> Tensor:
        """Rotate queries or keys.

        Args:
            states: (batch, heads, length, head_dim).
            positions: (batch, length), positions in the source.

        Returns:
            (batch, heads, length, head_dim).
        """
        del positions
        return states

    def bias(self, positions: Tensor, queries: slice = slice(None)) -> Tensor | None:
        """Compute the bias of the attention scores.

        Args:
            positions: (batch, length), positions in the source.
            queries: Range of the queries; all by default.

        Returns:
            (batch, heads, queries, length), or None without a bias.
        """
        del positions, queries
        return None


def build_positions(kind: PositionsKind, heads: int, head_dim: int) -> AttentionPositions:
    """Build a position encoding.

    Raises:
        ValueError: If head_dim is odd and positions are rotary.
    """
    if kind == "rotary":
        return RotaryPositions(head_dim)
    return RelativePositions(heads) if kind == "relative" else AttentionPositions()


@final
class RotaryPositions(AttentionPositions):
    """Rotary position embedding (Su et al., 2021, "RoFormer", equation 15).

    Pairs of features are rotated by angles proportional to the position, so that the product of a query and a key
    depends on their distance. A pair consists of a feature of the first half and one of the second; the paper pairs
    neighbours, which is equivalent up to a permutation of features.
    """

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"dim / heads must be even for rotary positions, got {head_dim}; change dim or heads")

    def rotate(self, states: Tensor, positions: Tensor) -> Tensor:
        """Rotate queries or keys, (batch, heads, length, head_dim), by their positions, (batch, length)."""
        half = states.size(-1) // 2
        frequency = 10000.0 ** -(torch.arange(half, device=states.device).double() / half)
        angle = positions[:, None, :, None] * frequency  # (batch, 1, length, half); float32 is too coarse far from 0
        cosine, sine = angle.cos().to(states.dtype), angle.sin().to(states.dtype)
        first, second = states.chunk(2, dim=-1)
        return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


@final
class RelativePositions(AttentionPositions):
    """Learned bias for every head and distance (Raffel et al., 2020, "T5", section 2.1).

    As in T5, short distances have a bucket each, long ones share logarithmic buckets, and directions are distinguished.
    Departures: 32 buckets per direction up to a distance of 8192, where T5's 16 end at 128, too short for pooled
    documents; biases are initialised to 0. The bias is materialised, (batch, heads, length, length), so that memory is
    quadratic in the states that attend to each other.
    """

    starts: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(heads, 2 * BUCKETS))
        # Shortest distance of every bucket but the first, which is that of distance 0.
        exact = BUCKETS // 2
        growth = (MAX_DISTANCE / exact) ** (1 / (BUCKETS - exact - 1))
        longer = [math.ceil(exact * growth**index - 1e-6) for index in range(BUCKETS - exact)]
        starts = torch.tensor([*range(1, exact), *longer], dtype=torch.int32)
        self.register_buffer("starts", starts, persistent=False)

    def bias(self, positions: Tensor, queries: slice = slice(None)) -> Tensor:
        """Look up the bias of all distances; see `AttentionPositions.bias`."""
        distances = (positions[:, None, :] - positions[:, queries, None]).int()  # (batch, queries, length)
        buckets = torch.bucketize(distances.abs(), self.starts, out_int32=True, right=True)
        buckets = buckets + BUCKETS * (distances > 0)
        # The backward pass is much faster than that of indexing.
        looked_up = self.weight.index_select(1, buckets.flatten())
        return looked_up.view(len(self.weight), *buckets.shape).transpose(0, 1)  # (batch, heads, queries, length)
