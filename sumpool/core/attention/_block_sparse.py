"""Attention of blocks of queries to a few blocks of keys: the computation that patterns of blocks share."""

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend, attend_in_blocks
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
