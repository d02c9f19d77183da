"""Neighborhood attention: every token attends to the 2 * radius + 1 tokens around it, itself included.

Two definitions differ at both ends of a document. `edges: cut` (Vaswani et al., 2017, section 4; paper 5 in
docs/variants.md): the radius is the largest distance, and tokens near an end have fewer neighbours, as in
sliding-window attention with a window of 2 * radius. `edges: shift` (Hassani et al., 2023, "Neighborhood Attention
Transformer"): every token has its 2 * radius + 1 nearest tokens as far as the document has so many.
O(length * radius * dim) time, O(length * radius) memory.
"""

from typing import Literal, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor

from sumpool.core.attention._band import BandAttention
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend
from sumpool.core.tokens import Tokens


@final
class NeighborhoodAttentionConfig(AttentionConfig):
    """Settings of neighborhood attention."""

    kind: Literal["neighborhood"] = "neighborhood"
    radius: int = Field(100, ge=1, le=5_000_000)
    """Neighbours on either side of a token."""
    edges: Literal["cut", "shift"] = "cut"
    """Neighbourhoods of tokens near an end of the document: cut, only the tokens within the radius; shift, moved so
    that they have as many tokens as all others."""

    def build(self, dim: int, heads: int) -> "NeighborhoodAttention":
        """Build the attention."""
        return NeighborhoodAttention(self, dim, heads)


class _Ends(NamedTuple):
    """Tokens near the start and near the end of each document, in this order, and their keys.

    Attributes:
        queries: (batch, 2, edge), indices of the tokens; some are near both ends.
        counted: (batch, 2, edge), True at real tokens, at the start for those near both ends.
        keys: (batch, 2, keys), indices of the keys.
        visible: (batch, 2, keys), True at keys inside the document.
    """

    queries: Tensor
    counted: Tensor
    keys: Tensor
    visible: Tensor


@final
class NeighborhoodAttention(BandAttention):
    """Self-attention to the nearest tokens."""

    def __init__(self, config: NeighborhoodAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(dim, heads, config.radius)
        self.shifted = config.edges == "shift"

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        mixed = self._attend_in_windows(query, key, value, tokens.positions, self._windows_of(tokens))
        if not self.shifted:
            return mixed
        ends = self._ends(tokens.mask)
        query, key, value = _take(query, ends.queries), _take(key, ends.keys), _take(value, ends.keys)
        shifted = merge_heads(attend(query, key, value, ends.visible.flatten(0, 1)))  # (batch * 2, edge, dim)
        mixed = torch.cat([mixed, shifted.unflatten(0, (-1, 2)).flatten(1, 2)], dim=1)
        return mixed.gather(1, self._source(ends, tokens.mask)[..., None].expand(-1, -1, mixed.size(2)))

    def _ends(self, mask: Tensor) -> _Ends:
        """Find the tokens less than a radius away from the start or the end of each document."""
        batch, length = mask.shape
        counts = mask.sum(1, keepdim=True)  # (batch, 1)
        edge = torch.arange(min(self.reach, length), device=mask.device)
        size = torch.arange(min(2 * self.reach + 1, length), device=mask.device)
        last_queries, last_keys = counts - len(edge) + edge, counts - len(size) + size
        queries = torch.stack([edge.expand(batch, -1), last_queries], dim=1)
        counted = torch.stack([edge < counts, last_queries >= len(edge)], dim=1)
        keys = torch.stack([size.expand(batch, -1), last_keys], dim=1)
        visible = (keys >= 0) & (keys < counts[:, None])
        return _Ends(queries.clamp(min=0), counted, keys.clamp(min=0), visible)

    def _source(self, ends: _Ends, mask: Tensor) -> Tensor:
        """Index of each token in the concatenation of all tokens and those near the ends, (batch, length)."""
        batch, length = mask.shape
        indices = torch.arange(length + ends.queries[0].numel(), device=mask.device).expand(batch, -1)
        # What does not count goes to a column behind the last token, which is cut off.
        targets = torch.where(ends.counted, ends.queries, length).flatten(1)
        return indices[:, : length + 1].scatter(1, targets, indices[:, length:])[:, :length]


def _take(values: Tensor, index: Tensor) -> Tensor:
    """Gather tokens (batch, 2, tokens) of (batch, heads, length, head_dim): (batch * 2, heads, tokens, head_dim)."""
    flat = index.flatten(1)[:, None, :, None].expand(-1, values.size(1), -1, values.size(3))
    taken: Tensor = values.gather(2, flat).unflatten(2, (2, -1)).transpose(1, 2).flatten(0, 1)
    return taken
