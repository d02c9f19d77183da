"""Attention of blocks of queries to a few blocks of keys: the computation that patterns of blocks share."""

import math
from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend, attend_in_blocks, attention_weights
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


class BlockSparseAttention(Attention):
    """Self-attention in which every block of queries attends to `visible` blocks of keys, one softmax over all of them.

    Blocks count from the first token of each document, and its last block may be shorter: neither padding nor batch
    mates change a result. O(length * visible * block * dim) time, O(length * visible * block * heads) memory.
    """

    def __init__(self, dim: int, heads: int, block_size: int, global_blocks: int = 0) -> None:
        """Build the attention.

        Args:
            dim: Features of a state.
            heads: Attention heads.
            block_size: Tokens of a block.
            global_blocks: First blocks, whose queries attend to the whole document.
        """
        super().__init__(dim, heads)
        self.block_size = block_size
        self.global_blocks = global_blocks

    @abstractmethod
    def _visible_blocks(self, counts: Tensor, blocks: int) -> Tensor:
        """Return the blocks of keys that each block of queries attends to.

        Args:
            counts: (batch, 1, 1, 1), blocks of each document, at least 1.
            blocks: Blocks of the longest document.

        Returns:
            (batch, heads or 1, blocks, visible), indices less than the document's count, none of them twice for a block
            of queries; -1 for no block.
        """

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value, padded_mask = self._pad(tokens)
        blocks, visible = self._visible(padded_mask)
        query_blocks = query.unflatten(2, (-1, self.block_size))
        key_blocks, value_blocks = (_take_blocks(part, blocks, self.block_size) for part in (key, value))
        mixed = attend_in_blocks(query_blocks, key_blocks, value_blocks, visible).flatten(2, 3)
        if self.global_blocks:
            first = self.global_blocks * self.block_size
            mixed = torch.cat([attend(query[:, :, :first], key, value, padded_mask), mixed[:, :, first:]], dim=2)
        return merge_heads(mixed[:, :, : tokens.states.size(1)])

    def attention_received(self, tokens: Tokens, include_self: bool) -> Tensor:
        """Recompute the weights of the same blocks: O(length * visible * block * dim) again."""
        query, key, _, padded_mask = self._pad(tokens)
        blocks, visible = self._visible(padded_mask)
        first = self.global_blocks * self.block_size
        is_local = torch.arange(query.size(2), device=tokens.mask.device) >= first
        counted = (padded_mask & is_local).unflatten(1, (-1, self.block_size))[:, None, ..., None]
        if not include_self:
            indices = torch.arange(query.size(2), device=tokens.mask.device).view(
                -1, self.block_size
            )  # (blocks, block)
            keys = blocks.clamp(min=0)[..., None] * self.block_size + indices[0]
            counted = counted & (indices[..., None] != keys.flatten(3)[..., None, :])
        key_blocks = _take_blocks(key, blocks, self.block_size)
        scores = query.unflatten(2, (-1, self.block_size)) @ key_blocks.mT / math.sqrt(query.size(3))
        weights = at_least_float32(scores).masked_fill(~visible, -math.inf).softmax(-1)
        sums = weights.masked_fill(~counted, 0.0).sum(3)  # (batch, heads, blocks, visible * block)
        received = _add_blocks(sums, blocks, query.size(2), self.block_size).mean(1)
        if self.global_blocks:
            received = received + self._received_from_global(query, key, padded_mask, first, include_self)
        return received[:, : tokens.states.size(1)].masked_fill(~tokens.mask, 0.0)

    def _received_from_global(self, query: Tensor, key: Tensor, mask: Tensor, first: int, include_self: bool) -> Tensor:
        """Attention that each token receives from the queries of the global blocks, (batch, length)."""
        weights = attention_weights(query[:, :, :first], key, mask).masked_fill(~mask[:, None, :first, None], 0.0)
        if not include_self:
            weights = weights.masked_fill(torch.eye(*weights.shape[2:], dtype=torch.bool, device=mask.device), 0.0)
        return weights.sum(2).mean(1)

    def _pad(self, tokens: Tokens) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Pad to whole blocks: queries, keys, values (batch, heads, length, head_dim), mask (batch, length)."""
        rest = -tokens.states.size(1) % self.block_size
        query, key, value = (F.pad(part, (0, 0, 0, rest)) for part in self._project(tokens))
        return query, key, value, F.pad(tokens.mask, (0, rest))

    def _visible(self, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Visible blocks (batch, heads, blocks, visible) and keys (batch, heads, blocks, 1, visible * block)."""
        counts = ((mask.sum(1) + self.block_size - 1) // self.block_size).clamp(min=1)
        total = mask.size(1) // self.block_size
        blocks = self._visible_blocks(counts[:, None, None, None], total)
        blocks = blocks.expand(len(mask), self.heads, total, -1)
        real = _take_blocks(mask[:, None, :, None].expand(-1, self.heads, -1, 1), blocks, self.block_size).squeeze(4)
        visible = real & (blocks >= 0).repeat_interleave(self.block_size, dim=3)
        visible = visible | ~visible.any(3, keepdim=True)  # blocks of padding see anything: no row may be empty
        return blocks, visible[..., None, :]


def _take_blocks(values: Tensor, blocks: Tensor, block: int) -> Tensor:
    """Gather blocks (batch, heads, blocks, visible) of (batch, heads, length, features), any block at index -1.

    Returns:
        (batch, heads, blocks, visible * block, features).
    """
    batch, heads, total, visible = blocks.shape
    rows = values.unflatten(2, (-1, block)).flatten(3)  # (batch, heads, blocks, block * features)
    index = blocks.clamp(min=0).flatten(2)[..., None].expand(-1, -1, -1, rows.size(3))
    taken: Tensor = rows.gather(2, index).view(batch, heads, total, visible * block, values.size(3))
    return taken


def _add_blocks(sums: Tensor, blocks: Tensor, length: int, block: int) -> Tensor:
    """Add the sums (batch, heads, blocks, visible * block) of visible keys at their indices: (batch, heads, length)."""
    parts = sums.unflatten(3, (-1, block)).masked_fill(blocks[..., None] < 0, 0.0).flatten(2, 3)
    index = blocks.clamp(min=0).flatten(2)[..., None].expand_as(parts)
    zeros = parts.new_zeros(*parts.shape[:2], length // block, block)
    received: Tensor = zeros.scatter_add(2, index, parts).flatten(2)
    return received
