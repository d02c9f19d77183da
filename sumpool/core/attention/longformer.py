"""Longformer attention (Beltagy et al., 2020): a sliding window and global tokens.

A token attends to the tokens at most `window / 2` positions away, and to the first `global_tokens` of the document;
these attend to the whole document: O(length * (window + global_tokens) * dim). With `separate` projections, the global
queries and what they attend to have linear maps of their own, as in the paper: O(length * dim^2) more.

Departures from the released code: any length is allowed (released: multiples of the window). As there, a global token
counts once for tokens whose window contains it, and as a key it uses the projections of all other tokens.
"""

from collections.abc import Sequence
from typing import Literal, Self, final

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from sumpool.core.attention._band import BandAttention
from sumpool.core.attention._base import AttentionConfig, full_mask
from sumpool.core.nn.layers import keep_outputs, merge_heads, split_heads
from sumpool.core.nn.masking import attend, attention_weights
from sumpool.core.nn.windows import without_first


@final
class LongformerAttentionConfig(AttentionConfig):
    """Settings of Longformer attention."""

    kind: Literal["longformer"] = "longformer"
    window: int = Field(512, ge=2, le=10_000_000)
    """Positions visible to a token beside its own, half of them on either side; even."""
    global_tokens: int = Field(16, ge=0, le=65_536)
    """First tokens of the document, which all tokens attend to, and which attend to all."""
    separate: bool = False
    """Whether global tokens attend to the document by linear maps of their own, as in the paper."""

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        if self.window % 2:
            raise ValueError(f"window must be even, got {self.window}; half of it lies on either side")
        return self

    def build(self, dim: int, heads: int) -> "LongformerAttention":
        """Build the attention."""
        return LongformerAttention(self, dim, heads)


@final
class LongformerAttention(BandAttention):
    """Self-attention within a window, and of global tokens in both directions."""

    def __init__(self, config: LongformerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(dim, heads, config.window // 2, first=config.global_tokens)
        separate = config.separate and config.global_tokens > 0
        self.global_query = nn.Linear(dim, dim) if separate else None
        self.global_key_value = nn.Linear(dim, 2 * dim) if separate else None

    def prune_heads(self, kept: Sequence[int]) -> None:
        """See `Attention.prune_heads`."""
        if self.global_query is not None and self.global_key_value is not None:
            keep_outputs(self.global_query, kept, self.heads)
            keep_outputs(self.global_key_value, kept, self.heads, parts=2)
        super().prune_heads(kept)

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Attend window by window; see `Attention.forward`."""
        mask = full_mask(states) if mask is None else mask
        projected = self._project(states, positions)
        mixed = self._attend_in_windows(*projected, mask, positions)
        if self.first_tokens:
            query, key, value = self._global(states, projected)
            first = merge_heads(attend(query, key, value, mask))
            mixed = torch.cat([first.to(mixed.dtype), mixed[:, self.first_tokens :]], dim=1)
        out: Tensor = self.out(mixed)
        return out

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, include_self: bool) -> Tensor:
        """Recompute the weights: O(length * (window + global_tokens) * dim) again."""
        projected = self._project(states, positions)
        others = without_first(mask, self.first_tokens)
        received, _ = self._received_in_windows(*projected[:2], mask, positions, others, include_self)
        if self.first_tokens:
            query, key, _ = self._global(states, projected)
            weights = attention_weights(query, key, mask)  # (batch, heads, first, length)
            weights = weights * mask[:, None, : self.first_tokens, None]
            if not include_self:
                weights = weights.masked_fill(torch.eye(*weights.shape[2:], dtype=torch.bool, device=mask.device), 0.0)
            received = received + weights.sum((1, 2))
        return received / self.heads

    def _global(self, states: Tensor, projected: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the global tokens (batch, heads, first, head_dim), and the keys and values that they attend to."""
        query, key, value = projected
        if self.global_query is None or self.global_key_value is None:
            return query[:, :, : self.first_tokens], key, value
        query = self.global_query(states[:, : self.first_tokens])
        parts = (query, *self.global_key_value(states).chunk(2, dim=-1))
        query, key, value = (split_heads(part, self.heads) for part in parts)
        return query, key, value
