"""Blockwise self-attention (Qiu et al., 2020; the encoder of Pietruszka et al., "Trainable Representation Pooling").

Consecutive blocks of the document attend independently of each other: O(length * block * dim). Blocks of padding only
are skipped, so that the cost follows the real tokens of a batch.

Departures from the released code: a remainder forms a shorter last block (released: lengths must divide), padding is
masked (released: it is not), and no token of a block is overwritten.
"""

from collections.abc import Callable, Sequence
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import AttentionByLengths, AttentionConfig, full_mask, known_lengths
from sumpool.core.nn.numerics import to_device
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
class BlockwiseAttention(AttentionByLengths):
    """Self-attention within blocks."""

    block: int

    def __init__(
        self, dim: int, heads: int, block: int, positions: PositionsKind = "none", *, causal: bool = False
    ) -> None:
        super().__init__(dim, heads, positions, causal=causal)
        self.block = block

    def forward(
        self, states: Tensor, mask: Tensor | None, positions: Tensor, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """Attend within each block; see `Attention.forward`."""
        if states.size(1) <= self.block:
            return super().forward(states, mask, positions)
        mask = full_mask(states) if mask is None else mask
        return self._map_blocks(super().forward, states, mask, positions, lengths)

    def attention_received(
        self,
        states: Tensor,
        mask: Tensor,
        positions: Tensor,
        include_self: bool,
        lengths: Sequence[int] | None = None,
    ) -> Tensor:
        """Recompute the weights block by block: O(length * block * dim) again."""
        receive = super().attention_received

        def receive_blocks(states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
            return receive(states, full_mask(states) if mask is None else mask, positions, include_self)

        return self._map_blocks(receive_blocks, states, mask, positions, lengths)

    def _map_blocks(
        self,
        function: Callable[[Tensor, Tensor | None, Tensor], Tensor],
        states: Tensor,
        mask: Tensor,
        positions: Tensor,
        lengths: Sequence[int] | None,
    ) -> Tensor:
        """Apply a function to all blocks with a real token as one batch; 0 for the other blocks.

        The mask of the blocks is None where all of them are full.
        """
        batch, length, _ = states.shape
        exporting = torch.compiler.is_exporting()
        block = self.block if exporting else min(self.block, length)
        rest = -length % block
        blocks = F.pad(states, (0, 0, 0, rest)).view(-1, block, states.size(2))  # (batch * blocks, block, dim)
        block_mask, positions = (F.pad(values, (0, rest)).view(-1, block) for values in (mask, positions))
        sizes = [] if exporting else _block_sizes(known_lengths(mask, lengths), length, block)
        filled = [index for index, size in enumerate(sizes) if size]
        full = all(sizes[index] == block for index in filled) and not exporting
        if exporting or len(filled) == len(sizes):
            output = function(blocks, None if full else block_mask, positions)
        else:
            real = to_device(filled, mask, torch.long)
            partial_output = function(blocks[real], None if full else block_mask[real], positions[real])
            zeros = partial_output.new_zeros(len(blocks), *partial_output.shape[1:])
            output = zeros.index_copy(0, real, partial_output)
        return output.view(batch, -1, *output.shape[2:])[:, :length]


def _block_sizes(lengths: Sequence[int], padded: int, block: int) -> list[int]:
    """Return the real tokens of each block of documents that are padded to a length."""
    return [max(0, min(block, length - first)) for length in lengths for first in range(0, padded, block)]
