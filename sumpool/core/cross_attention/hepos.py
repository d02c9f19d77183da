"""Head-wise positional strides (HEPOS: Huang et al., 2021, "Efficient Attentions for Long Document Summarization").

Head i attends to every `stride`-th state of the memory, starting at i mod stride (Section 3), so that all heads
together cover the memory and keys and values take 1 / stride of their time and memory: O(target * length * dim /
stride). Each head projects only the states that it attends to. Parameters are those of full cross-attention and may be
loaded from it.

Departure from the released code: a memory whose length is a multiple of the stride is not padded, and padding is always
masked (there, every head attends to one padding vector). A head without states in a short document contributes zeros.
"""

from collections.abc import Sequence
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.cross_attention._base import CrossAttention, CrossAttentionConfig
from sumpool.core.nn.masking import precompute_mask, zero_padding
from sumpool.core.nn.numerics import to_device
from sumpool.core.nn.quantization import UnquantizedLinear
from sumpool.core.tokens import Tokens


@final
class HeposCrossAttentionConfig(CrossAttentionConfig):
    """Settings of head-wise positional strides."""

    kind: Literal["hepos"] = "hepos"
    stride: int = Field(4, ge=1, le=10_000_000)
    """Distance between the states that a head attends to; with fewer heads than this, some states are skipped."""

    def build(self, dim: int, heads: int) -> "HeposCrossAttention":
        """Build the layer."""
        return HeposCrossAttention(dim, heads, self.stride)


@final
class HeposCrossAttention(CrossAttention):
    """Each head attends to its own positions of the memory."""

    def __init__(self, dim: int, heads: int, stride: int) -> None:
        super().__init__(dim, heads, UnquantizedLinear)
        self.stride = stride

    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project keys and values of each head, (batch, heads, positions, head_dim), and the bias that masks padding.

        The number of positions is length / stride, rounded up.
        """
        del shared
        rest = -memory.mask.size(1) % self.stride
        states = F.pad(zero_padding(memory.states, memory.mask), (0, 0, 0, rest)).unflatten(1, (-1, self.stride))
        mask = F.pad(memory.mask, (0, rest)).unflatten(1, (-1, self.stride))  # (batch, positions, stride)
        starts = [index % self.stride for index in range(self.heads)]
        key_values: list[Tensor] = [states] * self.heads
        for start in sorted(set(starts)):
            heads = [head for head, other in enumerate(starts) if other == start]
            for head, key_value in zip(heads, self._project(states[:, :, start], heads).unbind(3), strict=True):
                key_values[head] = key_value
        key, value = torch.stack(key_values, dim=1).unbind(3)  # (batch, heads, positions, head_dim) each
        bias, value = precompute_mask(mask.index_select(2, to_device(starts, mask)).transpose(1, 2), value)
        return {"key": key, "value": value, "bias": bias}

    def attention_weights(self, queries: Tensor, precomputed: dict[str, Tensor], length: int) -> Tensor:
        """Compute the attention weights of whole summaries, 0 at positions that a head does not attend to."""
        weights = super().attention_weights(queries, precomputed, length)  # (batch, heads, target, positions)
        spread = weights.new_zeros(*weights.shape, self.stride)
        for head in range(self.heads):
            spread[:, head, :, :, head % self.stride] = weights[:, head]
        return spread.flatten(3)[..., :length]

    def _project(self, states: Tensor, heads: Sequence[int]) -> Tensor:
        """Project states (batch, positions, dim) for some heads: (batch, positions, 2, heads, head_dim)."""
        weight, bias = (
            torch.stack([part.unflatten(0, (2, self.heads, -1))[:, head] for head in heads], dim=1).flatten(0, 2)
            for part in (self.key_value.weight, self.key_value.bias)
        )
        projected: Tensor = F.linear(states.contiguous(), weight, bias).unflatten(2, (2, len(heads), -1))
        return projected
