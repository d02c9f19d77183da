"""BigBird attention (Zaheer et al., 2020): a window of blocks, global blocks, and random blocks.

A block of queries attends to itself and its neighbours, to the first block, and to `random_blocks` others.
The queries of the global blocks attend to the whole document. O(length * (3 + global + random) * block * dim).

Departures from the released code: the first blocks are global (released: the first and the last); random blocks depend
on the seed, the head and the number of blocks of the document only (released: drawn for the padded length); any length
is allowed (released: multiples of the block, above a minimum).
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._base import AttentionConfig, BlockSparseAttention
from sumpool.core.nn.numerics import hash_pairs

_GLOBAL_BLOCKS = 1
"""Blocks at the beginning of the document that all tokens attend to, and whose tokens attend to all."""
_SEED = 0
"""Seed of the random blocks."""


@final
class BigbirdAttentionConfig(AttentionConfig):
    """Settings of BigBird attention."""

    kind: Literal["bigbird"] = "bigbird"
    block: int = Field(64, ge=1, le=10_000_000)
    """Tokens per block."""
    random_blocks: int = Field(3, ge=0, le=1000)
    """Random blocks that each block attends to in each head."""


@final
class BigbirdAttention(BlockSparseAttention):
    """Self-attention to neighbouring, global and random blocks."""

    def __init__(self, config: BigbirdAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.block, _GLOBAL_BLOCKS)
        self.random_blocks = config.random_blocks

    def _visible_blocks(self, counts: Tensor, blocks: int) -> Tensor:
        keys = torch.arange(blocks, device=counts.device)
        distance = (keys[:, None] - keys).abs()  # (blocks of queries, blocks of keys)
        is_fixed = (distance <= 1) | (keys < self.global_blocks)
        exists = keys < counts  # (batch, 1, 1, blocks)
        draws = hash_pairs(blocks, self.heads, _SEED, counts.device)
        # Fixed blocks come first, then random ones in the order of their draws, blocks that do not exist last.
        order = torch.where(is_fixed, draws - 2, draws)[None].masked_fill(~exists, 2.0)
        visible = min(3 + self.global_blocks + self.random_blocks, blocks)
        values, indices = (part[..., :visible] for part in order.sort(dim=3, stable=True))  # equal draws by index
        rank = torch.arange(visible, device=counts.device)
        fixed = (is_fixed & exists).sum(3, keepdim=True)  # (batch, 1, blocks, 1)
        return indices.masked_fill((values >= 2) | (rank >= fixed + self.random_blocks), -1)
