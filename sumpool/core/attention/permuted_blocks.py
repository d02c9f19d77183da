"""Attention to permuted blocks (Qiu et al., 2020, "BlockBERT"): some heads attend within blocks, others across.

The blocks of a document are permuted cyclically: in head h of the `shifted` ones, counted from 1, the queries of block
i attend to the keys of block i + h. O(length * block * dim), as for blockwise attention, but information passes between
blocks.

Departures from the paper: blocks have a fixed number of tokens (paper: a document has two or three blocks), and those
of padding do not take part in the permutation, so that any length is allowed.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._base import AttentionConfig, BlockSparseAttention


@final
class PermutedBlocksAttentionConfig(AttentionConfig):
    """Settings of attention to permuted blocks."""

    kind: Literal["permuted_blocks"] = "permuted_blocks"
    block: int = Field(128, ge=1, le=10_000_000)
    """Tokens per block."""
    shifted: int = Field(1, ge=0, le=10_000_000)
    """Heads that attend to other blocks; at most `model.heads`."""


@final
class PermutedBlocksAttention(BlockSparseAttention):
    """Self-attention to one block per head and block of queries."""

    def __init__(self, config: PermutedBlocksAttentionConfig, dim: int, heads: int) -> None:
        if config.shifted > heads:
            raise ValueError(f"shifted must be at most heads = {heads}, got {config.shifted}; lower it")
        super().__init__(config, dim, heads, config.block)
        self.unshifted = heads - config.shifted

    def _visible_blocks(self, counts: Tensor, blocks: int) -> Tensor:
        shifts = torch.arange(self.heads, device=counts.device) - self.unshifted + 1
        indices = torch.arange(blocks, device=counts.device)
        return (indices[None, None, :, None] + shifts.clamp(min=0)[None, :, None, None]) % counts
