"""Head-wise positional strides (HEPOS: Huang et al., 2021, "Efficient Attentions for Long Document Summarization").

Head i sees every `stride`-th vector of the memory, from place i mod stride on (Section 3), so that all heads together
see all of it and keys and values take 1 / stride of their time and memory: O(target * length * dim / stride). A head
projects nothing but what it sees. The weights are those of full cross-attention and may be taken from it.

Departure from the released code: a memory whose length the stride divides gets no more filling, and filling is never
seen (there, one vector of it is, by every head). A head that has nothing to see in a short document adds nothing.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.cross_attention._base import CrossAttention, CrossAttentionConfig, CrossAttentionOutput
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import precompute_mask, zero_padding
from sumpool.core.nn.quantization import UnquantizedLinear
from sumpool.core.tokens import Tokens


@final
class HeposCrossAttentionConfig(CrossAttentionConfig):
    """Settings of strides by head."""

    kind: Literal["hepos"] = "hepos"
    stride: int = Field(4, ge=1)
    """Places from one vector that a head sees to the next; with fewer heads than this, some vectors are never seen."""

    def build(self, dim: int, heads: int) -> "HeposCrossAttention":
        """Build the layer."""
        return HeposCrossAttention(dim, heads, self.stride)


@final
class HeposCrossAttention(CrossAttention):
    """Each head sees its own places of the memory."""

    def __init__(self, dim: int, heads: int, stride: int) -> None:
        super().__init__()
        self.heads = heads
        self.stride = stride
        self.query = nn.Linear(dim, dim)
        self.key_value = UnquantizedLinear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project what each head sees: keys and values (batch, heads, places, head_dim), and what hides padding.

        There are length / stride places, rounded up.
        """
        del shared
        rest = -memory.mask.size(1) % self.stride
        states = F.pad(zero_padding(memory.states, memory.mask), (0, 0, 0, rest)).unflatten(1, (-1, self.stride))
        mask = F.pad(memory.mask, (0, rest)).unflatten(1, (-1, self.stride))  # (batch, places, stride)
        starts = [head % self.stride for head in range(self.heads)]
        projected = [self._project(states[:, :, start], start) for start in range(min(self.stride, self.heads))]
        seen = [projected[start][:, :, :, head // self.stride] for head, start in enumerate(starts)]
        key, value = torch.stack(seen, dim=1).unbind(3)  # (batch, heads, places, head_dim) each
        bias, value = precompute_mask(mask[:, :, starts].transpose(1, 2), value)
        return {"key": key, "value": value, "bias": bias}

    def forward(
        self, queries: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None = None
    ) -> CrossAttentionOutput:
        """See; see `CrossAttention.forward`."""
        del mask
        query = split_heads(self.query(queries), self.heads)  # (batch, heads, target, head_dim)
        seen = F.scaled_dot_product_attention(query, precomputed["key"], precomputed["value"], precomputed["bias"])
        return CrossAttentionOutput(self.out(merge_heads(seen)))

    def _project(self, states: Tensor, start: int) -> Tensor:
        """Project the vectors of one start (batch, places, dim) for its heads: (batch, places, 2, heads, head_dim)."""
        weight, bias = (
            part.unflatten(0, (2, self.heads, -1))[:, start :: self.stride].flatten(0, 2)
            for part in (self.key_value.weight, self.key_value.bias)
        )
        mine = len(range(start, self.heads, self.stride))
        projected: Tensor = F.linear(states.contiguous(), weight, bias).unflatten(2, (2, mine, -1))
        return projected
