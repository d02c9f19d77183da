"""Attention of the Sparse Transformer (Child et al., 2019): two factorised patterns.

The document is laid out in rows of `stride` tokens. `strided`: a token attends to the tokens less than a row away, and
to its own column. `fixed`: to its row, and to the last `columns` columns of all rows. In both, two steps reach every
token. One softmax over the union, O(length * (stride + length / stride) * dim): O(length^1.5 * dim) with a stride of
about the square root of the length.

Departures from the released code: both directions are visible (released: the past only); every head has both parts of
the strided pattern, the paper's "merged" head (released: an attention for each); columns are tokens, the same in all
heads (released: blocks of tokens, others in other heads); padding is masked, and any length is allowed.
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
    pattern: Literal["strided", "fixed"] = "fixed"
    """Pattern beside the row: strided, the token's column; fixed, the last columns of all rows."""
    stride: int = Field(128, ge=1, le=10_000_000)
    """Tokens per row; about the square root of the length is cheapest."""
    columns: int = Field(8, ge=1, le=10_000_000)
    """Columns that every token attends to in the fixed pattern; at most `stride`."""

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        if self.pattern == "fixed" and self.columns > self.stride:
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
        self.is_strided = config.pattern == "strided"
        self.stride = config.stride
        self.columns = config.columns

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = (self._rows(part) for part in self._project(tokens))
        local, column = self._weights(query, key, self._row_mask(tokens.mask))
        mixed = local.to(value.dtype) @ self._local(value)
        if self.is_strided:
            mixed = mixed + torch.einsum("bhnlm,bhmld->bhnld", column.to(value.dtype), value)
        else:
            mixed = mixed + column.to(value.dtype) @ self._column(value)
        return merge_heads(mixed.flatten(2, 3)[:, :, : tokens.states.size(1)])

    def _weights(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Weights of local keys (batch, heads, rows, stride, local) and of columns (..., column), 0 where not visible.

        Args:
            query: (batch, heads, rows, stride, head_dim).
            key: The same.
            mask: (batch, rows, stride), True at real tokens.
        """
        rows, stride = mask.shape[1:]
        local = query @ self._local(key).mT
        local_visible = self._local(mask[:, None, ..., None]).squeeze(4)[..., None, :]  # (batch, 1, rows, 1, local)
        positions = torch.arange(rows, device=mask.device)
        distance = positions[:, None] - positions
        other_row = distance != 0  # the own row is local
        if self.is_strided:
            # Distance of each token of a row to the local keys before it, (stride, local).
            keys = torch.arange(local.size(4), device=mask.device) - stride
            local_visible = local_visible & ((torch.arange(stride, device=mask.device)[:, None] - keys).abs() < stride)
            column = torch.einsum("bhnld,bhmld->bhnlm", query, key)
            column_visible = mask.mT[:, None, None] & other_row[:, None]  # (batch, 1, rows, stride, rows)
        else:
            column = query @ self._column(key).mT
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

    def _local(self, values: Tensor) -> Tensor:
        """Local keys of each row: the row itself, or with its neighbours, (batch, heads, rows, local, features)."""
        if not self.is_strided:
            return values
        padded = F.pad(values, (0, 0, 0, 0, 1, 1))
        return torch.cat([padded[:, :, :-2], values, padded[:, :, 2:]], dim=3)

    def _column(self, values: Tensor) -> Tensor:
        """Last columns of all rows, (batch, heads, 1, rows * columns, features)."""
        return values[:, :, :, -self.columns :].flatten(2, 3)[:, :, None]
