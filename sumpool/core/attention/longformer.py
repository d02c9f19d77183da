"""Longformer attention (Beltagy et al., 2020): a sliding window and global tokens.

A token attends to the tokens at most `window / 2` positions away, and to global tokens, the first `global_tokens` of
the document. These attend to the whole document: O(length * (window + global tokens) * dim). With `separate`
projections, the global queries and what they attend to have linear maps of their own, as in the paper: O(length *
dim^2) more.

Departures from the released code: any length is allowed (released: multiples of the window). As there, a global token
counts once for tokens whose window contains it, and as a key it uses the projections of all other tokens.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.attention._base import AttentionConfig, BandAttention, Window
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend
from sumpool.core.tokens import Tokens


@final
class LongformerAttentionConfig(AttentionConfig):
    """Settings of Longformer attention."""

    kind: Literal["longformer"] = "longformer"
    window: Window = 512
    """Positions visible to a token beside its own, half of them on either side; even."""
    global_tokens: int = Field(16, ge=0, le=65_536)
    """First tokens of the document, which all tokens attend to, and which attend to all."""
    separate: bool = False
    """Whether global tokens attend to the document by linear maps of their own, as in the paper."""


@final
class LongformerAttention(BandAttention):
    """Self-attention within a window, and of global tokens in both directions."""

    def __init__(self, config: LongformerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.window // 2, first=config.global_tokens)
        separate = config.separate and config.global_tokens > 0
        self.global_query = nn.Linear(dim, dim) if separate else None
        self.global_key_value = nn.Linear(dim, 2 * dim) if separate else None

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        mixed = self._attend_in_windows(query, key, value, tokens)
        query = query[:, :, : self.first_tokens]
        if self.global_query is not None and self.global_key_value is not None:
            query = self.global_query(tokens.states[:, : self.first_tokens])
            parts = (query, *self.global_key_value(tokens.states).chunk(2, dim=-1))
            query, key, value = (split_heads(part, self.heads) for part in parts)
        first = merge_heads(attend(query, key, value, tokens.mask))
        return torch.cat([first.to(mixed.dtype), mixed[:, self.first_tokens :]], dim=1)
