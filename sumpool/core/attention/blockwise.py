"""Blockwise self-attention (Qiu et al., 2020; the encoder of Pietruszka et al., "Trainable Representation Pooling").

Consecutive blocks of the document attend independently of each other: O(length * block * dim). Blocks of padding only
are skipped, so that the cost follows the real tokens of a batch.

Departures from the released code: a remainder forms a shorter last block (released: lengths must divide), padding is
masked (released: it is not), and no token of a block is overwritten.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import AttentionConfig, SoftmaxAttention, known_lengths
from sumpool.core.nn.numerics import to_device
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.tokens import Tokens


@final
class BlockwiseAttentionConfig(AttentionConfig):
    """Settings of blockwise self-attention."""

    kind: Literal["blockwise"] = "blockwise"
    block: int = Field(512, ge=1, le=10_000_000)
    """Tokens per block."""

    positions: PositionsKind = "none"
    """Position encoding inside the attention: rotary rotates queries and keys, relative adds a learned bias per
    distance, none relies on the positions added to the embeddings."""


@final
class BlockwiseAttention(SoftmaxAttention):
    """Self-attention within blocks."""

    block: int

    def __init__(self, config: BlockwiseAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.block = config.block

    def forward(self, tokens: Tokens) -> Tensor:
        """Attend within each block; see `Attention.forward`."""
        if tokens.states.size(1) <= self.block:
            return super().forward(tokens)
        return self._map_blocks(super().forward, tokens)

    def attention_received(self, tokens: Tokens, include_self: bool) -> Tensor:
        """Recompute the weights block by block: O(length * block * dim) again."""
        return self._map_blocks(partial(super().attention_received, include_self=include_self), tokens)

    def _map_blocks(self, function: Callable[[Tokens], Tensor], tokens: Tokens) -> Tensor:
        """Apply a function of states, mask and positions to all blocks with a real token as one batch; 0 for others."""
        batch, length, dim = tokens.states.shape
        exporting = torch.compiler.is_exporting()
        block = self.block if exporting else min(self.block, length)
        rest = -length % block
        states = F.pad(tokens.states, (0, 0, 0, rest)).view(-1, block, dim)  # (batch * blocks, block, dim)
        mask, positions = (F.pad(values, (0, rest)).view(-1, block) for values in (tokens.mask, tokens.positions))
        lengths = () if exporting else known_lengths(tokens)
        sizes = [max(0, min(block, real - first)) for real in lengths for first in range(0, length, block)]
        filled = [index for index, size in enumerate(sizes) if size]
        full = all(sizes[index] == block for index in filled) and not exporting
        blocks = replace(tokens, states=states, mask=mask, positions=positions, lengths=None, full=full)
        if exporting or len(filled) == len(sizes):
            output = function(blocks)
        else:
            real = to_device(filled, mask, torch.long)
            partial_output = function(replace(blocks, states=states[real], mask=mask[real], positions=positions[real]))
            zeros = partial_output.new_zeros(len(states), *partial_output.shape[1:])
            output = zeros.index_copy(0, real, partial_output)
        return output.view(batch, -1, *output.shape[2:])[:, :length]
