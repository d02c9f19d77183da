"""Longformer attention (Beltagy et al., 2020): a sliding window and global tokens.

A token attends to the tokens at most `window / 2` positions away, and to global tokens: the first `global_tokens` of
the document, and with `global_sentences` the first one of each sentence. These attend to the whole document:
O(length * (window + global tokens) * dim). With `separate` projections, the global queries and what they attend to have
linear maps of their own, as in the paper: O(length * dim^2) more.

Departures from the released code: any length is allowed (released: multiples of the window). As there, a global token
counts once for tokens whose window contains it, and as a key it uses the projections of all other tokens.
"""

from typing import Literal, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._band import BandAttention, Window
from sumpool.core.attention._base import AttentionConfig, dynamic_lengths
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.low_rank import take_rows
from sumpool.core.nn.masking import attend
from sumpool.core.nn.numerics import indices_of_true
from sumpool.core.nn.windows import Windows
from sumpool.core.tokens import Tokens


@final
class LongformerAttentionConfig(AttentionConfig):
    """Settings of Longformer attention."""

    kind: Literal["longformer"] = "longformer"
    window: Window = 512
    """Positions visible to a token beside its own, half of them on either side; even."""
    global_tokens: int = Field(16, ge=0, le=65_536)
    """First tokens of the document, which all tokens attend to, and which attend to all."""
    global_sentences: bool = False
    """Whether the first token of each sentence is global besides."""
    separate: bool = False
    """Whether global tokens attend to the document by linear maps of their own, as in the paper."""

    def build(self, dim: int, heads: int) -> "LongformerAttention":
        """Build the attention."""
        return LongformerAttention(self, dim, heads)


class _GlobalTokens(NamedTuple):
    """Global tokens of a batch.

    Attributes:
        indices: (batch, global), their indices in the document, in order.
        real: (batch, global), True where there is one.
        others: (batch, length), True at the other real tokens.
        lengths: Length of each document behind copies of its global tokens; None where the host does not know it.
    """

    indices: Tensor
    real: Tensor
    others: Tensor
    lengths: list[int] | None


@final
class LongformerAttention(BandAttention):
    """Self-attention within a window, and of global tokens in both directions."""

    def __init__(self, config: LongformerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(dim, heads, config.window // 2, first=config.global_tokens)
        self.global_sentences = config.global_sentences
        separate = config.separate and (config.global_tokens > 0 or config.global_sentences)
        self.global_query = nn.Linear(dim, dim) if separate else None
        self.global_key_value = nn.Linear(dim, 2 * dim) if separate else None

    def _mix(self, tokens: Tokens) -> Tensor:
        found, length = self._find_global(tokens), tokens.mask.size(1)
        query, key, value = self._project(tokens)
        first = merge_heads(attend(*self._global(tokens, found, (query, key, value)), tokens.mask))
        index = found.indices[:, None]
        query, key, value = (torch.cat([take_rows(part, index), part], dim=2) for part in (query, key, value))
        count = first.size(1)
        windows = Windows(torch.cat([found.real, found.others], 1), self.reach, count, self.causal, found.lengths)
        mixed = self._attend_in_windows(query, key, value, F.pad(tokens.positions, (count, 0)), windows)[:, count:]
        targets = found.indices.masked_fill(~found.real, length)[..., None]  # a spare row if there is none
        mixed = F.pad(mixed, (0, 0, 0, 1)).scatter(1, targets.expand_as(first), first.to(mixed.dtype))
        return mixed[:, :length].contiguous()

    def _find_global(self, tokens: Tokens) -> _GlobalTokens:
        """Find the global tokens: the first ones, and those that begin a sentence, for whose number the host waits."""
        mask, sentences, lengths = tokens.mask, tokens.sentences, dynamic_lengths(tokens)
        is_global = torch.arange(mask.size(1), device=mask.device) < self.first_tokens
        if self.global_sentences:
            is_global = is_global | F.pad(sentences[:, 1:] != sentences[:, :-1], (1, 0), value=True)
        is_global = is_global & mask
        known = None if self.global_sentences or lengths is None else min(self.first_tokens, max(lengths))
        count = int(is_global.sum(1).max()) if known is None else known
        index, real = indices_of_true(is_global, count)
        extended = None if lengths is None else [count + length for length in lengths]
        return _GlobalTokens(index, real, mask & ~is_global, extended)

    def _global(
        self, tokens: Tokens, found: _GlobalTokens, projected: tuple[Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the global tokens (batch, heads, global, head_dim), and the keys and values of the document."""
        query, key, value = projected
        if self.global_query is None or self.global_key_value is None:
            return take_rows(query, found.indices[:, None]), key, value
        index = found.indices[..., None].expand(-1, -1, tokens.states.size(2))
        query = self.global_query(tokens.states.gather(1, index))
        parts = (query, *self.global_key_value(tokens.states).chunk(2, dim=-1))
        query, key, value = (split_heads(part, self.heads) for part in parts)
        return query, key, value
