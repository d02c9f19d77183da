"""Sliding-window self-attention (Beltagy et al., 2020, "Longformer"; the encoder of LED and LoBART).

A token sees those at most `window / 2` places away, on either side: O(length * window * dim) time, and memory without
the dim. The document is cut into chunks of half a window, and each sees itself and its neighbours, with those out of
reach hidden. With `global_first` the first token is seen by all and sees all, by projections of its own; since it is
but one, they are applied to its query and to the mixture of what it sees, not to every token: O(length * dim * heads).

Departures from the released codes: any length works (there, multiples of the window), and padding is never seen (in
LoBART's, it is). As in LED, the first token counts once for those that have it in their window too, and has the keys
and values of all others for those that see it.
"""

import math
from functools import partial
from typing import Literal, Self, final

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.attention._base import Attention, AttentionConfig, all_real
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import PositionsKind, build_positions
from sumpool.core.nn.quantization import UnquantizedLinear
from sumpool.core.nn.windows import Windows, without_first

_WEIGHTS_AT_ONCE = 2**24
"""Attention weights that are held at a time to be summed, over windows, heads, queries and keys: 64 MB in float32."""


@final
class SlidingWindowAttentionConfig(AttentionConfig):
    """Settings of sliding-window attention."""

    kind: Literal["sliding_window"] = "sliding_window"
    window: int = Field(512, ge=2)
    """Places that a token sees beside its own, half of them on either side; even."""
    global_first: bool = False
    """Whether the first token is seen by all and sees all; what it sees itself has no positions but those added to the
    embeddings."""
    positions: PositionsKind = "none"
    """How attention knows the places of vectors in the source: rotary turns queries and keys, relative adds a learned
    number for every distance, none leaves it to what was added to the embeddings."""

    @model_validator(mode="after")
    def _window_has_two_sides(self) -> Self:
        if self.window % 2:
            raise ValueError(f"window must be even, got {self.window}; half of it lies on either side")
        return self

    def build(self, dim: int, heads: int) -> "SlidingWindowAttention":
        """Build the layer."""
        return SlidingWindowAttention(dim, heads, self)


@final
class SlidingWindowAttention(Attention):
    """Tokens see those around them, and perhaps the first one."""

    def __init__(self, dim: int, heads: int, config: SlidingWindowAttentionConfig) -> None:
        super().__init__()
        self.heads = heads
        self.reach = config.window // 2
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.positions = build_positions(config.positions, heads, dim // heads)
        self.first = FirstToken(dim, heads) if config.global_first else None

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim) window by window; see `Attention.forward`."""
        mask = all_real(states) if mask is None else mask
        windows = Windows(mask, self.reach, first=self.first is not None)
        query, key, value = self._project(states, positions, windows)
        seen = windows.seen[:, None]  # (windows, 1, chunk, keys)
        bias = self.positions.bias(windows.windows(positions), windows.asking)
        if bias is not None:
            seen = bias.to(query.dtype).masked_fill(~seen, -math.inf)
        mixed = windows.join(merge_heads(F.scaled_dot_product_attention(query, key, value, attn_mask=seen)))
        if self.first:
            mixed = torch.cat([self.first(states, mask)[:, None].to(mixed.dtype), mixed[:, 1:]], dim=1)
        out: Tensor = self.out(mixed)
        return out

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets, some windows at a time; O(length * window * dim) again."""
        windows = Windows(mask, self.reach, first=self.first is not None)
        query, key, _ = self._project(states, positions, windows)
        asking = windows.chunks(without_first(mask) if self.first else mask)
        counted = asking[..., None] & (windows.itself.logical_not() | itself)  # (windows, chunk, keys)
        step = max(1, _WEIGHTS_AT_ONCE // (self.heads * windows.itself.numel()))
        parts = (query, key, windows.windows(positions), windows.seen, counted)
        give = partial(checkpoint, self._give, windows.asking, use_reentrant=False, preserve_rng_state=False)
        given = torch.cat([give(*part) for part in zip(*(part.split(step) for part in parts), strict=True)])
        attention_received = windows.gather(given)
        if self.first:
            shared = self.first.weigh(states, mask).sum(1)  # (batch, length)
            attention_received = attention_received + (shared if itself else shared * without_first(mask))
        return attention_received / self.heads

    def _project(self, states: Tensor, positions: Tensor, windows: Windows) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries (windows, heads, chunk, head_dim), and keys and values (windows, heads, keys, head_dim)."""
        query, key, value = self.project(states).chunk(3, dim=-1)
        query, key = (
            merge_heads(self.positions.turn(split_heads(part, self.heads), positions)) for part in (query, key)
        )
        laid_out = (windows.chunks(query), windows.windows(key), windows.windows(value))
        query, key, value = (split_heads(part, self.heads) for part in laid_out)
        return query, key, value

    def _give(
        self, asking: slice, query: Tensor, key: Tensor, positions: Tensor, seen: Tensor, counted: Tensor
    ) -> Tensor:
        """Sum the attention that every key gets in its window, over queries and heads: (windows, keys)."""
        scores = at_least_float32(query / math.sqrt(query.size(-1)) @ key.transpose(2, 3))
        bias = self.positions.bias(positions, asking)
        if bias is not None:
            scores = scores + bias
        weights = scores.masked_fill(~seen[:, None], -math.inf).softmax(-1)  # (windows, heads, chunk, keys)
        return weights.masked_fill(~counted[:, None], 0.0).sum((1, 2))


@final
class FirstToken(nn.Module):
    """What the first token sees: the whole document, by projections of its own."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = UnquantizedLinear(dim, 2 * dim)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """See (batch, length, dim), True in mask (batch, length) at real tokens: (batch, dim)."""
        seen = self.weigh(states, mask).to(states.dtype) @ states  # (batch, heads, dim)
        _, value = self._by_head()
        bias = self.key_value.bias.chunk(2)[1]  # the weights sum to one
        return torch.einsum("bhd,hed->bhe", seen, value).flatten(1) + bias

    def weigh(self, states: Tensor, mask: Tensor) -> Tensor:
        """Share its attention out: (batch, heads, length), 0 at padding."""
        key, _ = self._by_head()
        query = self.query(states[:, 0]).unflatten(1, (self.heads, -1)) / math.sqrt(key.size(1))
        asked = torch.einsum("bhe,hed->bhd", query, key)  # (batch, heads, dim)
        # The bias of the keys adds the same to all scores of a head, and so nothing.
        scores = at_least_float32(asked @ states.transpose(1, 2))
        padding = ~mask[:, None]
        return scores.masked_fill(padding, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(padding, 0.0)

    def _by_head(self) -> tuple[Tensor, Tensor]:
        """Give the matrices of keys and values, (heads, head_dim, dim) each."""
        key, value = (part.unflatten(0, (self.heads, -1)) for part in self.key_value.weight.chunk(2))
        return key, value
