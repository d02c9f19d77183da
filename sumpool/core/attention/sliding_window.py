"""Sliding-window self-attention (Beltagy et al., 2020, "Longformer"; the encoder of LED and LoBART).

A token attends to the tokens at most `window / 2` positions away on either side: O(length * window * dim) time and
O(length * window) memory. The document is split into chunks of half a window; each chunk attends to itself and its
neighbours under a band mask. With `global_first` all tokens attend to the first token, and the first token attends to
all, with separate projections. These are applied to its query and its output only, not to every token:
O(length * dim * heads).

Departures from the released codes: any length is allowed (released: multiples of the window), and padding is masked
(LoBART: not masked). As in LED, the first token counts once for tokens whose window contains it, and as a key it uses
the same projections as all other tokens.
"""

import math
from typing import Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import AttentionConfig, BandAttention, Window
from sumpool.core.nn.masking import masked_softmax
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.nn.quantization import UnquantizedLinear
from sumpool.core.tokens import Tokens


@final
class SlidingWindowAttentionConfig(AttentionConfig):
    """Settings of sliding-window self-attention."""

    kind: Literal["sliding_window"] = "sliding_window"
    window: Window = 512
    """Positions visible to a token beside its own, half of them on either side; even."""
    global_first: bool = False
    """Whether the first token has global attention in both directions. Its own queries use only the positions added to
    the embeddings."""
    positions: PositionsKind = "none"
    """Position encoding inside the attention: rotary rotates queries and keys, relative adds a learned bias per
    distance, none relies on the positions added to the embeddings."""


@final
class SlidingWindowAttention(BandAttention):
    """Self-attention within a window, optionally with a global first token."""

    def __init__(self, config: SlidingWindowAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.window // 2, int(config.global_first))
        self.first = FirstToken(dim, heads) if config.global_first else None

    def _mix(self, tokens: Tokens) -> Tensor:
        mixed = super()._mix(tokens)
        if self.first:
            mixed = torch.cat([self.first(tokens.states, tokens.mask)[:, None].to(mixed.dtype), mixed[:, 1:]], dim=1)
        return mixed


@final
class FirstToken(nn.Module):
    """Global attention of the first token over its document, with separate projections."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = UnquantizedLinear(dim, 2 * dim)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Attention output of the first token, (batch, dim).

        Args:
            states: (batch, length, dim).
            mask: (batch, length), True at real tokens.
        """
        key, value = (part.unflatten(0, (self.heads, -1)) for part in self.key_value.weight.chunk(2))
        query = self.query(states[:, 0]).unflatten(1, (self.heads, -1)) / math.sqrt(key.size(1))
        projected = torch.einsum("bhe,hed->bhd", query, key)  # (batch, heads, dim)
        # The bias of the keys adds the same constant to all scores of a head: the softmax cancels it.
        weights = masked_softmax(projected @ states.transpose(1, 2), ~mask[:, None])  # (batch, heads, length)
        mixed = weights.to(states.dtype) @ states  # (batch, heads, dim)
        bias = self.key_value.bias.chunk(2)[1]  # unscaled, because the weights sum to 1
        return torch.einsum("bhd,hed->bhe", mixed, value).flatten(1) + bias
