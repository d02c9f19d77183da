"""Linformer attention (Wang et al., 2020): keys and values are projected along the tokens to `rank` vectors.

Softmax attention over E K and F V with learned E and F of `rank` x length: O(length * rank * dim). The implied weights
softmax(Q (E K)^T) F may be negative. `unreduced` is the sketch that this form stands for, softmax(Q K^T) E^T E V with
E^T E an estimate of the identity, unreduced JLT in Chen et al., 2022 ("Skeinformer"): it approximates full attention,
more closely with a higher rank, at its quadratic cost.

Positions are those among the vectors of the layer, so that documents may have at most `length` of them there, and
shorter ones use the first columns of E and F. Departure from the released code: padding never enters a projected key or
value. Sharing between layers is not offered.
"""

from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend
from sumpool.core.tokens import Tokens

LinformerSharing = Literal["none", "heads", "keys_values", "keys_values_per_head"]


@final
class LinformerAttentionConfig(AttentionConfig):
    """Settings of Linformer attention."""

    kind: Literal["linformer"] = "linformer"
    rank: int = Field(256, ge=1, le=65_536)
    """Projected keys and values."""
    length: int = Field(2048, ge=1, le=65_536)
    """Vectors of a document at most; at least `model.source_length`."""
    sharing: LinformerSharing = "heads"
    """Projections: none, for keys and for values in each head; heads, the same two in all heads; keys_values, one;
    keys_values_per_head, one in each head, as in the code released with Skyformer."""
    unreduced: bool = False
    """Whether to sketch the weights of full attention instead of keys and values; each head then has one projection,
    or all share it (`sharing`)."""

    @property
    def max_length(self) -> int:
        """Vectors of a document at most."""
        return self.length


@final
class LinformerAttention(Attention):
    """Self-attention to projections of keys and values along the tokens."""

    def __init__(self, config: LinformerAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.unreduced = config.unreduced
        per_head = config.sharing in ("none", "keys_values_per_head")
        shape = (heads if per_head else 1, config.rank, config.length)
        self.project_keys = nn.Parameter(torch.empty(shape))
        is_shared = config.unreduced or config.sharing.startswith("keys_values")
        self.project_values = None if is_shared else nn.Parameter(torch.empty(shape))
        for projection in (self.project_keys, self.project_values):
            if projection is not None:
                nn.init.normal_(projection, std=config.rank**-0.5)

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        padding = ~tokens.mask[:, None, :, None]
        key, value = key.masked_fill(padding, 0.0), value.masked_fill(padding, 0.0)
        keys = self.project_keys[..., : tokens.states.size(1)]  # of keys and of values, (heads or 1, rank, length) each
        values = keys if self.project_values is None else self.project_values[..., : tokens.states.size(1)]
        value = _apply(values, value)
        if self.unreduced:
            mixed = attend(query, key, _apply(keys.mT, value), tokens.mask)
        else:
            mixed = attend(query, _apply(keys, key), value, None)
        return merge_heads(mixed)


def _apply(projection: Tensor, vectors: Tensor) -> Tensor:
    """Project vectors (batch, heads, length, head_dim) along the tokens by (heads or 1, rank, length)."""
    expanded = projection.expand(vectors.size(1), -1, -1).to(vectors.dtype)
    # Documents side by side: the projection is not copied for each.
    return torch.einsum("hrn,bhnd->bhrd", expanded, vectors)
