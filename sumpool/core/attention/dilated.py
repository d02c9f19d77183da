"""Dilated sliding-window self-attention (Beltagy et al., 2020, "Longformer", section 3.1).

A token attends to every `dilation`-th token, itself included, at most `dilation * window / 2` positions away on either
side: O(length * window * dim) time and O(length * window) memory for a reach `dilation` times as wide. The document is
read as `dilation` interleaved ones, each under a sliding window.
"""

from dataclasses import replace
from typing import Literal, final

from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import AttentionConfig, BandAttention, Window
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.tokens import Tokens


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


@final
class DilatedAttention(BandAttention):
    """Self-attention to every `dilation`-th token within a window."""

    def __init__(self, config: DilatedAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.window // 2)
        self.dilation = config.dilation

    def _mix(self, tokens: Tokens) -> Tensor:
        parts = (self._interleave(merge_heads(part)) for part in self._project(tokens))
        # (batch * dilation, heads, length / dilation, head_dim) each
        query, key, value = (split_heads(part, self.heads) for part in parts)
        lengths = tokens.lengths
        if lengths is not None:  # of the interleaved documents
            lengths = [
                -(-max(0, length - first) // self.dilation) for length in lengths for first in range(self.dilation)
            ]
        positions, mask = self._interleave(tokens.positions), self._interleave(tokens.mask)
        interleaved = replace(tokens, positions=positions, mask=mask, lengths=lengths)
        mixed = self._attend_in_windows(query, key, value, interleaved)
        merged: Tensor = mixed.unflatten(0, (-1, self.dilation)).transpose(1, 2).flatten(1, 2)  # (batch, length, dim)
        return merged[:, : tokens.states.size(1)]

    def _interleave(self, values: Tensor) -> Tensor:
        """Interleave (batch, length, ...), padded with zeros: (batch * dilation, length / dilation, ...)."""
        rest = -values.size(1) % self.dilation
        padded = F.pad(values, (0, 0) * (values.dim() - 2) + (0, rest))
        interleaved: Tensor = padded.unflatten(1, (-1, self.dilation)).transpose(1, 2).flatten(0, 1)
        return interleaved.contiguous()
