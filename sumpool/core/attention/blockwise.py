"""Blockwise self-attention (Qiu et al., 2020; the encoder of Pietruszka et al., "Trainable Representation Pooling").

The document is cut into consecutive blocks, and tokens see their own block only: O(length * block * dim). Blocks that
hold nothing but padding are skipped, so the cost follows the real tokens of a batch.

Departures from the released code: a remainder makes a shorter last block (there, lengths must divide), padding is
masked (there, it is not), and no token of a block is overwritten.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, final

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig, all_real
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, attention_received
from sumpool.core.nn.positions import PositionsKind, build_positions


@final
class BlockwiseAttentionConfig(AttentionConfig):
    """Settings of blockwise attention."""

    kind: Literal["blockwise"] = "blockwise"
    block: int = Field(512, ge=1)
    """Tokens of a block."""

    positions: PositionsKind = "none"
    """How attention knows the places of vectors in the source: rotary turns queries and keys, relative adds a learned
    number for every distance, none leaves it to what was added to the embeddings."""

    def build(self, dim: int, heads: int) -> "BlockwiseAttention":
        """Build the layer."""
        return BlockwiseAttention(dim, heads, self.block, self.positions)


@final
class BlockwiseAttention(Attention):
    """Tokens see the tokens of their own block."""

    block: int

    def __init__(self, dim: int, heads: int, block: int, positions: PositionsKind = "none") -> None:
        super().__init__()
        self.heads = heads
        self.block = block
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.positions = build_positions(positions, heads, dim // heads)

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim) block by block; see `Attention.forward`."""
        if mask is None and states.size(1) <= self.block:
            return self._mix(states, None, positions)
        return self._by_block(self._mix, states, all_real(states) if mask is None else mask, positions)

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets from its block; O(length * block * dim) again."""

        def receive(states: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
            query, key, _ = self._project(states, positions)
            return attention_received(query, key, mask, itself, partial(self.positions.bias, positions))

        return self._by_block(receive, states, mask, positions)

    def _by_block(
        self, work: Callable[[Tensor, Tensor, Tensor], Tensor], states: Tensor, mask: Tensor, positions: Tensor
    ) -> Tensor:
        """Work on all blocks that hold a real token as if they were documents; the others get zeros."""
        batch, length, _ = states.shape
        block = min(self.block, length)
        rest = -length % block
        states = F.pad(states, (0, 0, 0, rest)).view(-1, block, states.size(2))  # (batch * blocks, block, dim)
        mask, positions = (F.pad(numbers, (0, rest)).view(-1, block) for numbers in (mask, positions))
        real = mask.any(1).nonzero().squeeze(1)
        if len(real) == len(mask):
            done = work(states, mask, positions)
        else:
            some = work(states[real], mask[real], positions[real])
            done = some.new_zeros(len(mask), *some.shape[1:]).index_copy(0, real, some)
        return done.view(batch, -1, *done.shape[2:])[:, :length]

    def _mix(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        query, key, value = self._project(states, positions)
        if mask is not None and mask.all():
            mask = None
        seen = attend(query, key, value, mask, self.positions.bias(positions))
        mixed: Tensor = self.out(merge_heads(seen))
        return mixed

    def _project(self, states: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, (batch * blocks, heads, block, head_dim) each."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        return self.positions.turn(query, positions), self.positions.turn(key, positions), value
