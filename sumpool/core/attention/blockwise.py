"""Blockwise self-attention (Qiu et al., 2020; the encoder of Pietruszka et al., "Trainable Representation Pooling").

The document is cut into consecutive blocks, and tokens see their own block only: O(length * block * dim). Blocks that
hold nothing but padding are skipped, so the cost follows the real tokens of a batch.

Departures from the released code: a remainder makes a shorter last block (there, lengths must divide), padding is
masked (there, it is not), and no token of a block is overwritten.
"""

from typing import Literal, final

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.heads import merge_heads, split_heads
from sumpool.core.nn.masking import attend, mass


@final
class BlockwiseConfig(AttentionConfig):
    """Settings of blockwise attention."""

    kind: Literal["blockwise"] = "blockwise"
    block: int = Field(512, ge=1)
    """Tokens of a block."""

    def build(self, dim: int, heads: int) -> "BlockwiseAttention":
        """Build the layer."""
        return BlockwiseAttention(dim, heads, self.block)


@final
class BlockwiseAttention(Attention):
    """Tokens see the tokens of their own block."""

    def __init__(self, dim: int, heads: int, block: int) -> None:
        super().__init__()
        self.heads = heads
        self.block = block
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, states: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim) block by block; see `Attention.forward`."""
        del positions
        batch, length, dim = states.shape
        states, mask = self._cut(states, mask)
        real = mask.any(1).nonzero().squeeze(1)  # blocks with a real token
        if len(real) == len(mask):
            mixed = self._mix(states, mask)
        else:
            some = self._mix(states[real], mask[real])
            mixed = some.new_zeros(states.shape).index_copy(0, real, some)
        return mixed.view(batch, -1, dim)[:, :length]

    def mass(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets from its block; O(length * block * dim) again."""
        del positions
        batch, length, _ = states.shape
        states, mask = self._cut(states, mask)
        query, key, _ = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        return mass(query, key, mask, itself).view(batch, -1)[:, :length]

    def _cut(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Cut into blocks: (batch * blocks, block, dim) and (batch * blocks, block)."""
        length = states.size(1)
        block = min(self.block, length)
        rest = -length % block
        return F.pad(states, (0, 0, 0, rest)).view(-1, block, states.size(2)), F.pad(mask, (0, rest)).view(-1, block)

    def _mix(self, states: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        mixed: Tensor = self.out(merge_heads(attend(query, key, value, None if mask.all() else mask)))
        return mixed
