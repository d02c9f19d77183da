"""Attention within a band around the diagonal: the computation that attentions with a window share."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, dynamic_lengths
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.nn.windows import Windows
from sumpool.core.tokens import Tokens


def _check_even(window: int) -> int:
    if window % 2:
        raise ValueError(f"must be even, got {window}; half of it lies on either side")
    return window


Window = Annotated[int, Field(ge=2, le=10_000_000), AfterValidator(_check_even)]
"""Positions visible to a token beside its own, half of them on either side."""


class BandAttention(Attention):
    """Self-attention to the tokens at most `reach` positions away, and to `first` tokens that all others attend to.

    The document is split into chunks of `reach` tokens; each chunk attends to itself, its neighbours and the first
    tokens under a mask: O(length * (reach + first) * dim) time, O(length * (reach + first)) memory.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        reach: int,
        positions: PositionsKind = "none",
        first: int = 0,
    ) -> None:
        super().__init__(dim, heads, positions)
        self.reach = reach
        self.first_tokens = first

    def _mix(self, tokens: Tokens) -> Tensor:
        return self._attend_in_windows(*self._project(tokens), tokens.positions, self._windows_of(tokens))

    def _windows_of(self, tokens: Tokens) -> Windows:
        return self._windows(tokens.mask, dynamic_lengths(tokens))

    def _windows(self, mask: Tensor, lengths: Sequence[int] | None) -> Windows:
        """Cut documents into chunks."""
        return Windows(mask, self.reach, self.first_tokens, lengths)

    def _attend_in_windows(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor, windows: Windows
    ) -> Tensor:
        """Attend window by window.

        Args:
            query: (batch, heads, length, head_dim).
            key: The same.
            value: The same.
            positions: (batch, length).
            windows: Chunks and their windows.

        Returns:
            Merged heads, (batch, length, dim); those of the first tokens are to be replaced.
        """
        query = self._cut(windows.chunks, query)
        key, value = (self._cut(windows.windows, part) for part in (key, value))
        visible = windows.visible[:, None]  # (windows, 1, chunk, keys)
        bias = self.positions.bias(windows.windows(positions), windows.query_slice)
        if bias is not None:
            visible = bias.to(query.dtype).masked_fill(~visible, -math.inf)
        return windows.join(merge_heads(F.scaled_dot_product_attention(query, key, value, attn_mask=visible)))

    def _cut(self, cut: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
        """Cut (batch, heads, length, head_dim) into chunks or windows: (windows, heads, tokens, head_dim)."""
        return split_heads(cut(merge_heads(values)), values.size(1))
