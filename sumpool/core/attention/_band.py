"""Attention within a band around the diagonal: the computation that attentions with a window share."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

import torch
from pydantic import AfterValidator, Field
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.attention._base import Attention, dynamic_lengths
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.nn.windows import Windows, without_first
from sumpool.core.tokens import Tokens

MAX_WEIGHTS = 2**24
"""Attention weights materialised at a time, over windows, heads, queries and keys: 64 MB in float32."""


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
        *,
        causal: bool = False,
    ) -> None:
        super().__init__(dim, heads, positions, causal=causal)
        self.reach = reach
        self.first_tokens = first

    def _mix(self, tokens: Tokens) -> Tensor:
        return self._attend_in_windows(*self._project(tokens), tokens.positions, self._windows_of(tokens))

    def attention_received(self, tokens: Tokens, include_self: bool) -> Tensor:
        """Recompute the weights, a bounded number of windows at a time: O(length * reach * dim) again."""
        query, key, _ = self._project(tokens)
        others = without_first(tokens.mask, self.first_tokens)
        windows = self._windows_of(tokens)
        return self._received_in_windows(query, key, tokens.positions, windows, others, include_self)[0] / self.heads

    def _windows_of(self, tokens: Tokens) -> Windows:
        return self._windows(tokens.mask, dynamic_lengths(tokens))

    def _windows(self, mask: Tensor, lengths: Sequence[int] | None) -> Windows:
        """Cut documents into chunks."""
        return Windows(mask, self.reach, self.first_tokens, self.causal, lengths)

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

    def _received_in_windows(
        self, query: Tensor, key: Tensor, positions: Tensor, windows: Windows, counted: Tensor, include_self: bool
    ) -> tuple[Tensor, Tensor]:
        """Recompute the weights, a bounded number of windows at a time: O(length * reach * dim) again.

        Args:
            query: As for `_attend_in_windows`.
            key: As for `_attend_in_windows`.
            positions: (batch, length).
            windows: Chunks and their windows.
            counted: (batch, length), how often the weights of each query count; Boolean for once.
            include_self: Whether the weight of a token on itself counts.

        Returns:
            Attention received by each token, summed over the heads, (batch, length); and the weights on the first
            tokens, (batch, length, heads, first).
        """
        query, key = self._cut(windows.chunks, query), self._cut(windows.windows, key)
        counted = windows.chunks(counted)[..., None] * (windows.is_self.logical_not() | include_self)
        step = max(1, MAX_WEIGHTS // (self.heads * windows.is_self.numel()))
        parts = (query, key, windows.windows(positions), windows.visible, counted)
        receive = partial(checkpoint, self._receive, windows, use_reentrant=False, preserve_rng_state=False)
        results = [receive(*part) for part in zip(*(part.split(step) for part in parts), strict=True)]
        sums, on_first = (torch.cat(part) for part in zip(*results, strict=True))
        return windows.sum_windows(sums), windows.join(on_first)

    def _receive(
        self, windows: Windows, query: Tensor, key: Tensor, positions: Tensor, visible: Tensor, counted: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Weights on each key of a window, summed over queries and heads, (windows, keys), and on the first tokens."""
        scores = at_least_float32(query / math.sqrt(query.size(-1)) @ key.mT)
        bias = self.positions.bias(positions, windows.query_slice)
        if bias is not None:
            scores = scores + bias
        weights = scores.masked_fill(~visible[:, None], -math.inf).softmax(-1)  # (windows, heads, chunk, keys)
        weights = weights * counted[:, None]
        return weights.sum((1, 2)), weights[..., : windows.first].transpose(1, 2)

    def _cut(self, cut: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
        """Cut (batch, heads, length, head_dim) into chunks or windows: (windows, heads, tokens, head_dim)."""
        return split_heads(cut(merge_heads(values)), values.size(1))
