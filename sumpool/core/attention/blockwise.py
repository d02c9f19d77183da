"""Blockwise self-attention (Qiu et al., 2020; the encoder of Pietruszka et al., "Trainable Representation Pooling").

Consecutive blocks of the document attend independently of each other: O(length * block * dim). Blocks of padding only
are skipped, so that the cost follows the real tokens of a batch.

Departures from the released code: a remainder forms a shorter last block (released: lengths must divide), padding is
masked (released: it is not), and no token of a block is overwritten.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig, full_mask
from sumpool.core.nn.positions import PositionsKind


@final
class BlockwiseAttentionConfig(AttentionConfig):
    """Settings of blockwise self-attention."""

    kind: Literal["blockwise"] = "blockwise"
    block: int = Field(512, ge=1, le=10_000_000)
    """Tokens per block."""

    positions: PositionsKind = "none"
    """Position encoding inside the attention: rotary rotates queries and keys, relative adds a learned bias per
    distance, none relies on the positions added to the embeddings."""
    causal: bool = False
    """Whether tokens attend to themselves and to earlier tokens only, as in language models."""

    def build(self, dim: int, heads: int) -> "BlockwiseAttention":
        """Build the attention."""
        return BlockwiseAttention(dim, heads, self.block, self.positions, causal=self.causal)


@final
class BlockwiseAttention(Attention):
    """Self-attention within blocks."""

    block: int

    def __init__(
        self, dim: int, heads: int, block: int, positions: PositionsKind = "none", *, causal: bool = False
    ) -> None:
        super().__init__(dim, heads, positions, causal=causal)
        self.block = block

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Attend within each block; see `Attention.forward`."""
        if mask is None and states.size(1) <= self.block:
            return super().forward(states, None, positions)
        return self._map_blocks(self._attend, states, full_mask(states) if mask is None else mask, positions)

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, include_self: bool) -> Tensor:
        """Recompute the weights block by block: O(length * block * dim) again."""
        receive = partial(super().attention_received, include_self=include_self)
        return self._map_blocks(receive, states, mask, positions)

    def _map_blocks(
        self, function: Callable[[Tensor, Tensor, Tensor], Tensor], states: Tensor, mask: Tensor, positions: Tensor
    ) -> Tensor:
        """Apply a function to all blocks with a real token as one batch; 0 for the other blocks."""
        batch, length, _ = states.shape
        block = self.block if torch.compiler.is_exporting() else min(self.block, length)
        rest = -length % block
        states = F.pad(states, (0, 0, 0, rest)).view(-1, block, states.size(2))  # (batch * blocks, block, dim)
        mask, positions = (F.pad(values, (0, rest)).view(-1, block) for values in (mask, positions))
        real = None if torch.compiler.is_exporting() else mask.any(1).nonzero().squeeze(1)
        if real is None or len(real) == len(mask):
            output = function(states, mask, positions)
        else:
            partial_output = function(states[real], mask[real], positions[real])
            zeros = partial_output.new_zeros(len(mask), *partial_output.shape[1:])
            output = zeros.index_copy(0, real, partial_output)
        return output.view(batch, -1, *output.shape[2:])[:, :length]

    def _attend(self, states: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        full = not torch.compiler.is_exporting() and bool(mask.all())
        return super().forward(states, None if full else mask, positions)
