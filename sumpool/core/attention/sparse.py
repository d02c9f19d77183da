"""Attention of the Sparse Transformer (Child et al., 2019): its fixed pattern, which the paper has for text.

The document is laid out in rows of `stride` tokens. A token attends to its row, and to the last `columns` columns of
all rows, so that two steps reach every token. One softmax over the union, O(length * (stride + columns * length /
stride) * dim): O(length^1.5 * dim) with a stride of about the square root of the length.

Departures from the released code: both directions are visible (released: the past only); columns are tokens, the same
in all heads (released: blocks of tokens, others in other heads); padding is masked, and any length is allowed.
"""

import math
from typing import Literal, Self, final

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import masked_softmax
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@final
class SparseAttentionConfig(AttentionConfig):
    """Settings of the attention of the Sparse Transformer."""

    kind: Literal["sparse"] = "sparse"
    stride: int = Field(128, ge=1, le=10_000_000)
    """Tokens per row; about the square root of the length is cheapest."""
    columns: int = Field(8, ge=1, le=10_000_000)
    """Columns that every token attends to; at most `stride`."""

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        if self.columns > self.stride:
            raise ValueError(f"columns must be at most stride = {self.stride}, got {self.columns}")
        return self

    def build(self, dim: int, heads: int) -> "SparseAttention":
        """Build the attention."""
        return SparseAttention(self, dim, heads)


@final
class SparseAttention(Attention):
    """Self-attention to rows and columns."""

    def __init__(self, config: SparseAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        self.stride = config.stride
        self.columns = config.columns

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = (self._rows(part) for part in self._project(tokens))
        local, column = self._weights(query, key, self._row_mask(tokens.mask))
        mixed = local.to(value.dtype) @ value + column.to(value.dtype) @ self._column(value)
        return merge_heads(mixed.flatten(2, 3)[:, :, : tokens.states.size(1)])

    def _weights(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Weights of the keys of a row (batch, heads, rows, stride, stride) and of columns (..., column).

        Args:
            query: (batch, heads, rows, stride, head_dim).
            key: The same.
            mask: (batch, rows, stride), True at real tokens.
        """
        local, column = query @ key.mT, query @ self._column(key).mT
        local_visible = mask[:, None, :, None]  # (batch, 1, rows, 1, stride)
        other_row = ~torch.eye(mask.size(1), dtype=torch.bool, device=mask.device)  # the own row is local
        column_visible = mask[:, None, :, -self.columns :].flatten(2)[:, :, None, None]
        column_visible = column_visible & other_row.repeat_interleave(self.columns, 1)[:, None]
        scores = at_least_float32(torch.cat([local, column], dim=4)) / math.sqrt(query.size(4))
        hidden = ~torch.cat([local_visible.expand_as(local), column_visible.expand_as(column)], dim=4)
        weights = masked_softmax(scores, hidden)
        return weights[..., : local.size(4)], weights[..., local.size(4) :]

    def _rows(self, values: Tensor) -> Tensor:
        """Lay out (batch, heads, length, head_dim) in rows: (batch, heads, rows, stride, head_dim)."""
        rows: Tensor = F.pad(values, (0, 0, 0, -values.size(2) % self.stride)).unflatten(2, (-1, self.stride))
        return rows

    def _row_mask(self, mask: Tensor) -> Tensor:
        rows: Tensor = F.pad(mask, (0, -mask.size(1) % self.stride)).unflatten(1, (-1, self.stride))
        return rows

    def _column(self, values: Tensor) -> Tensor:
        """Last columns of all rows, (batch, heads, 1, rows * columns, features)."""
        return values[:, :, :, -self.columns :].flatten(2, 3)[:, :, None]
