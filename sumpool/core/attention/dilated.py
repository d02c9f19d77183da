"""Dilated sliding-window self-attention (Beltagy et al., 2020, "Longformer", section 3.1).

A token attends to every `dilation`-th token, itself included, at most `dilation * window / 2` positions away on either
side: O(length * window * dim) time and O(length * window) memory for a reach `dilation` times as wide. The document is
read as `dilation` interleaved ones, each under a sliding window.
"""

from collections.abc import Sequence
from typing import Literal, final

from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._band import BandAttention, Window
from sumpool.core.attention._base import AttentionConfig, full_mask
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.positions import PositionsKind


@final
class DilatedAttentionConfig(AttentionConfig):
    """Settings of dilated sliding-window attention."""

    kind: Literal["dilated"] = "dilated"
    window: Window = 512
    """Tokens visible to a token beside itself, half of them on either side; even."""
    dilation: int = Field(2, ge=1, le=10_000_000)
    """Distance between visible tokens; 1 is `sliding_window`."""
    positions: PositionsKind = "none"
    """Position encoding inside the attention: rotary rotates queries and keys, relative adds a learned bias per
    distance, none relies on the positions added to the embeddings."""
    causal: bool = False
    """Whether tokens attend to themselves and to earlier tokens only, as in language models."""

    def build(self, dim: int, heads: int) -> "DilatedAttention":
        """Build the attention."""
        return DilatedAttention(dim, heads, self)


@final
class DilatedAttention(BandAttention):
    """Self-attention to every few tokens within a window."""

    def __init__(self, dim: int, heads: int, config: DilatedAttentionConfig) -> None:
        super().__init__(dim, heads, config.window // 2, config.positions, causal=config.causal)
        self.dilation = config.dilation

    def forward(
        self, states: Tensor, mask: Tensor | None, positions: Tensor, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """Attend window by window; see `Attention.forward`."""
        mask = self._interleave(full_mask(states) if mask is None else mask)
        query, key, value = self._project_interleaved(states, positions)
        positions = self._interleave(positions)
        windows = self._windows(mask, self._interleaved_lengths(lengths))
        mixed = self._attend_in_windows(query, key, value, positions, windows)
        out: Tensor = self.out(self._merge(mixed, states.size(1)))
        return out

    def attention_received(
        self,
        states: Tensor,
        mask: Tensor,
        positions: Tensor,
        include_self: bool,
        lengths: Sequence[int] | None = None,
    ) -> Tensor:
        """Recompute the weights, a bounded number of windows at a time: O(length * window * dim) again."""
        query, key, _ = self._project_interleaved(states, positions)
        mask, positions = self._interleave(mask), self._interleave(positions)
        windows = self._windows(mask, self._interleaved_lengths(lengths))
        received, _ = self._received_in_windows(query, key, positions, windows, mask, include_self)
        return self._merge(received / self.heads, states.size(1))

    def _project_interleaved(self, states: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Position-encoded queries and keys, and values, (batch * d, heads, length / d, head_dim) each."""
        parts = (self._interleave(merge_heads(part)) for part in self._project(states, positions))
        query, key, value = (split_heads(part, self.heads) for part in parts)
        return query, key, value

    def _interleaved_lengths(self, lengths: Sequence[int] | None) -> list[int] | None:
        """Real tokens among every d-th token of each document."""
        if lengths is None:
            return None
        return [-(-max(0, length - first) // self.dilation) for length in lengths for first in range(self.dilation)]

    def _interleave(self, values: Tensor) -> Tensor:
        """Split (batch, length, ...) into every d-th token: (batch * d, length / d, ...), padded with zeros."""
        rest = -values.size(1) % self.dilation
        padded = F.pad(values, (0, 0) * (values.dim() - 2) + (0, rest))
        interleaved: Tensor = padded.unflatten(1, (-1, self.dilation)).transpose(1, 2).flatten(0, 1)
        return interleaved.contiguous()

    def _merge(self, values: Tensor, length: int) -> Tensor:
        """Undo `_interleave`: (batch, length, ...)."""
        merged: Tensor = values.unflatten(0, (-1, self.dilation)).transpose(1, 2).flatten(1, 2)
        return merged[:, :length]
