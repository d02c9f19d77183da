"""Full self-attention (Vaswani et al., 2017): every token sees every other, O(length^2 * dim)."""

from typing import Literal, final

from torch import Tensor, nn

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.heads import merge_heads, split_heads
from sumpool.core.nn.masking import attend, mass


@final
class VanillaConfig(AttentionConfig):
    """No settings."""

    kind: Literal["vanilla"] = "vanilla"

    def build(self, dim: int, heads: int) -> "VanillaAttention":
        """Build the layer."""
        return VanillaAttention(dim, heads)


@final
class VanillaAttention(Attention):
    """Every token sees every other."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, states: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim); see `Attention.forward`."""
        del positions
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        mixed: Tensor = self.out(merge_heads(attend(query, key, value, mask)))
        return mixed

    def mass(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets; O(length^2 * dim) again, for the fused kernel does not give its weights."""
        del positions
        query, key, _ = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        return mass(query, key, mask, itself)
