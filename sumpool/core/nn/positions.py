"""Places in the source, as waves that are added to vectors and as what attention makes of distances.

An attention that counts distances reads the positions that travel with the vectors, not their numbers in the row: what
pooling took out leaves a gap, and two survivors stand as far apart as in the source. Only differences of positions
count, so that adding the same to all changes nothing.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal, final

import torch
from torch import Tensor, nn

PositionsKind = Literal["none", "rotary", "relative"]

_BUCKETS = 32
"""Distances told apart, in each direction."""
_FARTHEST = 8192
"""From here on all distances are one."""


def sinusoid(positions: Tensor, dim: int) -> Tensor:
    """Encode places as waves (Vaswani et al., 2017, section 3.5), sines in the first half, cosines in the second.

    Args:
        positions: (...), counted from 0.
        dim: Features, even.

    Returns:
        (..., dim), float32.
    """
    half = dim // 2
    decay = torch.arange(half, device=positions.device) * (-math.log(10000.0) / max(half - 1, 1))
    angle = positions[..., None].float() * decay.exp()
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class AttentionPositions(nn.Module, ABC):
    """What an attention makes of the places at which its vectors stand."""

    @abstractmethod
    def turn(self, states: Tensor, positions: Tensor) -> Tensor:
        """Turn queries or keys.

        Args:
            states: (batch, heads, length, head_dim).
            positions: (batch, length), places in the source.

        Returns:
            (batch, heads, length, head_dim).
        """

    @abstractmethod
    def bias(self, positions: Tensor, queries: slice = slice(None)) -> Tensor | None:
        """Say what is added to the scaled product of queries and keys.

        Args:
            positions: (batch, length), places in the source.
            queries: Which of them ask; all by default.

        Returns:
            (batch, heads, queries, length); None where nothing is added.
        """


def build_positions(kind: PositionsKind, heads: int, head_dim: int) -> AttentionPositions:
    """Build one of the kinds.

    Raises:
        ValueError: Rotary positions are to turn an odd number of features.
    """
    if kind == "rotary":
        return RotaryPositions(head_dim)
    return RelativePositions(heads) if kind == "relative" else NoPositions()


@final
class NoPositions(AttentionPositions):
    """Attention does not know where vectors stand."""

    def turn(self, states: Tensor, positions: Tensor) -> Tensor:
        """Leave them."""
        del positions
        return states

    def bias(self, positions: Tensor, queries: slice = slice(None)) -> None:
        """Add nothing."""
        del positions, queries


@final
class RotaryPositions(AttentionPositions):
    """Turns pairs of features by angles that grow with the place (Su et al., 2021, "RoFormer", equation 15).

    The product of a query and a key then depends on their distance. Pairs are a feature of the first half and one of
    the second; the paper's are neighbours, which is the same up to the order of features that a projection learns.
    """

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"dim / heads must be even for rotary positions, got {head_dim}; change dim or heads")

    def turn(self, states: Tensor, positions: Tensor) -> Tensor:
        """Turn (batch, heads, length, head_dim); see `AttentionPositions.turn`."""
        half = states.size(-1) // 2
        speed = 10000.0 ** -(torch.arange(half, device=states.device).double() / half)
        angle = positions[:, None, :, None] * speed  # (batch, 1, length, half); float32 is too coarse far from 0
        cosine, sine = angle.cos().to(states.dtype), angle.sin().to(states.dtype)
        first, second = states.chunk(2, dim=-1)
        return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)

    def bias(self, positions: Tensor, queries: slice = slice(None)) -> None:
        """Add nothing."""
        del positions, queries


@final
class RelativePositions(AttentionPositions):
    """Adds a learned number for every head and distance (Raffel et al., 2020, "T5", section 2.1).

    As in T5 short distances have a number each and long ones share it in buckets that grow with their logarithm, before
    and behind apart. Departures: 32 buckets a direction up to a distance of 8192, where T5's 16 end at 128, too near
    for documents that were pooled; all start at 0. The numbers are written out, (batch, heads, length, length), so
    that memory is quadratic in the vectors that see each other.
    """

    starts: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(heads, 2 * _BUCKETS))
        self.register_buffer("starts", torch.tensor(_bucket_starts(), dtype=torch.int32), persistent=False)

    def turn(self, states: Tensor, positions: Tensor) -> Tensor:
        """Leave them."""
        del positions
        return states

    def bias(self, positions: Tensor, queries: slice = slice(None)) -> Tensor:
        """Look up the numbers of all distances; see `AttentionPositions.bias`."""
        distances = (positions[:, None, :] - positions[:, queries, None]).int()  # (batch, queries, length)
        buckets = torch.bucketize(distances.abs(), self.starts, out_int32=True, right=True)
        buckets = buckets + _BUCKETS * (distances > 0)
        # Much faster on the way back than indexing with all of them.
        looked_up = self.weight.index_select(1, buckets.flatten())
        return looked_up.view(-1, *buckets.shape).transpose(0, 1)  # (batch, heads, queries, length)


def _bucket_starts() -> list[int]:
    """Find the shortest distance of every bucket but the first, which is that of distance 0."""
    exact = _BUCKETS // 2
    growth = (_FARTHEST / exact) ** (1 / (_BUCKETS - exact - 1))
    return list(range(1, exact)) + [math.ceil(exact * growth**number - 1e-6) for number in range(_BUCKETS - exact)]
