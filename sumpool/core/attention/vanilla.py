"""Full self-attention (Vaswani et al., 2017): every token sees every other, O(length^2 * dim)."""

from functools import partial
from typing import Literal, final

from torch import Tensor, nn

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, attention_received
from sumpool.core.nn.positions import PositionsKind, build_positions


@final
class VanillaAttentionConfig(AttentionConfig):
    """Settings of full attention."""

    kind: Literal["vanilla"] = "vanilla"
    positions: PositionsKind = "none"
    """How attention knows the places of vectors in the source: rotary turns queries and keys, relative adds a learned
    number for every distance, none leaves it to what was added to the embeddings."""

    def build(self, dim: int, heads: int) -> "VanillaAttention":
        """Build the layer."""
        return VanillaAttention(dim, heads, self.positions)


@final
class VanillaAttention(Attention):
    """Every token sees every other."""

    def __init__(self, dim: int, heads: int, positions: PositionsKind = "none") -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.positions = build_positions(positions, heads, dim // heads)

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim); see `Attention.forward`."""
        query, key, value = self._project(states, positions)
        mixed: Tensor = self.out(merge_heads(attend(query, key, value, mask, self.positions.bias(positions))))
        return mixed

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets; O(length^2 * dim) again, for the fused kernel does not give its weights."""
        query, key, _ = self._project(states, positions)
        return attention_received(query, key, mask, itself, partial(self.positions.bias, positions))

    def _project(self, states: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, (batch, heads, length, head_dim) each."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        return self.positions.turn(query, positions), self.positions.turn(key, positions), value
