"""Longformer attention (Beltagy et al., 2020): a sliding window and global tokens.

A token attends to the tokens at most `window / 2` positions away, and to global tokens: the first `global_tokens` of
the document, and with `global_sentences` the first one of each sentence. These attend to the whole document:
O(length * (window + global tokens) * dim). With `separate` projections, the global queries and what they attend to have
linear maps of their own, as in the paper: O(length * dim^2) more.

Departures from the released code: any length is allowed (released: multiples of the window). As there, a global token
counts once for tokens whose window contains it, and as a key it uses the projections of all other tokens.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._band import BandAttention, Window
from sumpool.core.attention._base import AttentionConfig, dynamic_lengths, full_mask
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, attention_weights
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
        ranges: Ranges of real tokens of each document behind copies of its global tokens; None where the host does not
            know them.
    """

    indices: Tensor
    real: Tensor
    others: Tensor
    ranges: list[list[range]] | None


@final
class LongformerAttention(BandAttention):
    """Self-attention within a window, and of global tokens in both directions."""

    def __init__(self, config: LongformerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(dim, heads, config.window // 2, first=config.global_tokens)
        self.global_sentences = config.global_sentences
        separate = config.separate and (config.global_tokens > 0 or config.global_sentences)
        self.global_query = nn.Linear(dim, dim) if separate else None
        self.global_key_value = nn.Linear(dim, 2 * dim) if separate else None

    def mix(self, tokens: Tokens) -> Tensor:
        """See `Attention.mix`."""
        mask = None if tokens.full else tokens.mask
        mixed: Tensor = self(tokens.states, mask, tokens.positions, tokens.sentences, lengths=dynamic_lengths(tokens))
        return mixed

    def received(self, tokens: Tokens, include_self: bool) -> Tensor:
        """See `Attention.received`."""
        parts = (tokens.states, tokens.mask, tokens.positions, include_self, tokens.sentences)
        return self.attention_received(*parts, lengths=dynamic_lengths(tokens))

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None,
        positions: Tensor,
        sentences: Tensor | None = None,
        lengths: Sequence[int] | None = None,
    ) -> Tensor:
        """Attend window by window; see `Attention.forward`.

        Args:
            states: As there.
            mask: As there.
            positions: As there.
            sentences: (batch, length), sentence number of each token, where it is known.
            lengths: Real tokens of each document, where the host knows them.
        """
        mask = full_mask(states) if mask is None else mask
        tokens = self._find_global(mask, sentences, lengths)
        query, key, value = self._project(states, positions)
        first = merge_heads(attend(*self._global(states, tokens.indices, (query, key, value)), mask))
        query, key, value = (torch.cat([_take(part, tokens.indices), part], dim=2) for part in (query, key, value))
        mixed = self._attend_in_windows(query, key, value, *self._extend(tokens, positions))[:, first.size(1) :]
        targets = tokens.indices.masked_fill(~tokens.real, states.size(1))[..., None]  # a spare row if there is none
        mixed = F.pad(mixed, (0, 0, 0, 1)).scatter(1, targets.expand_as(first), first.to(mixed.dtype))
        out: Tensor = self.out(mixed[:, : states.size(1)].contiguous())
        return out

    def attention_received(
        self,
        states: Tensor,
        mask: Tensor,
        positions: Tensor,
        include_self: bool,
        sentences: Tensor | None = None,
        lengths: Sequence[int] | None = None,
    ) -> Tensor:
        """Recompute the weights: O(length * (window + global tokens) * dim) again."""
        tokens = self._find_global(mask, sentences, lengths)
        count = tokens.indices.size(1)
        projected = self._project(states, positions)
        query, key = (torch.cat([_take(part, tokens.indices), part], dim=2) for part in projected[:2])
        counted = F.pad(tokens.others, (count, 0))
        received, _ = self._received_in_windows(query, key, *self._extend(tokens, positions), counted, include_self)
        query, key, _ = self._global(states, tokens.indices, projected)
        weights = attention_weights(query, key, mask) * tokens.real[:, None, :, None]  # (batch, heads, global, length)
        if not include_self:
            is_self = tokens.indices[..., None] == torch.arange(mask.size(1), device=mask.device)
            weights = weights.masked_fill(is_self[:, None], 0.0)
        total = received[:, count:].scatter_add(1, tokens.indices, received[:, :count]) + weights.sum((1, 2))
        return total / self.heads

    def _find_global(self, mask: Tensor, sentences: Tensor | None, lengths: Sequence[int] | None) -> _GlobalTokens:
        """Find the global tokens: the first ones, and those that begin a sentence, for whose number the host waits."""
        is_global = torch.arange(mask.size(1), device=mask.device) < self.first_tokens
        by_sentence = sentences is not None and self.global_sentences
        if sentences is not None and by_sentence:
            is_global = is_global | F.pad(sentences[:, 1:] != sentences[:, :-1], (1, 0), value=True)
        is_global = is_global & mask
        known = None if by_sentence or lengths is None else min(self.first_tokens, max(lengths))
        count = int(is_global.sum(1).max()) if known is None else known
        index, real = indices_of_true(is_global, count)
        ranges = None
        if lengths is not None and known is None:
            ranges = [[range(count + length)] for length in lengths]  # and perhaps less
        elif lengths is not None:
            first = [min(count, length) for length in lengths]
            ranges = [[range(one), range(count + one, count + all_)] for one, all_ in zip(first, lengths, strict=True)]
        return _GlobalTokens(index, real, mask & ~is_global, ranges)

    def _extend(self, tokens: _GlobalTokens, positions: Tensor) -> tuple[Tensor, Windows]:
        """Positions (batch, global + length) and windows of documents behind copies of their global tokens."""
        mask = torch.cat([tokens.real, tokens.others], dim=1)
        count = tokens.indices.size(1)
        return F.pad(positions, (count, 0)), Windows(mask, self.reach, count, self.causal, tokens.ranges)

    def _global(
        self, states: Tensor, index: Tensor, projected: tuple[Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the global tokens (batch, heads, global, head_dim), and the keys and values of the document."""
        query, key, value = projected
        if self.global_query is None or self.global_key_value is None:
            return _take(query, index), key, value
        query = self.global_query(states.gather(1, index[..., None].expand(-1, -1, states.size(2))))
        parts = (query, *self.global_key_value(states).chunk(2, dim=-1))
        query, key, value = (split_heads(part, self.heads) for part in parts)
        return query, key, value


def _take(values: Tensor, index: Tensor) -> Tensor:
    """Gather tokens (batch, tokens) of (batch, heads, length, head_dim): (batch, heads, tokens, head_dim)."""
    return values.gather(2, index[:, None, :, None].expand(-1, values.size(1), -1, values.size(3)))
