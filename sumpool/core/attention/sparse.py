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


@final
class SparseAttention(Attention):
    """Self-attention to rows and columns."""

    config: SparseAttentionConfig

    def _mix(self, tokens: Tokens) -> Tensor:
        stride, columns, rest = self.config.stride, self.config.columns, -tokens.mask.size(1) % self.config.stride
        query, key, value = (  # (batch, heads, rows, stride, head_dim)
            F.pad(part, (0, 0, 0, rest)).unflatten(2, (-1, stride)) for part in self._project(tokens)
        )
        mask = F.pad(tokens.mask, (0, rest)).unflatten(1, (-1, stride))  # (batch, rows, stride)
        column_key, column_value = (  # the last columns of all rows, (batch, heads, 1, rows * columns, head_dim)
            part[:, :, :, -columns:].flatten(2, 3)[:, :, None] for part in (key, value)
        )
        local, column = query @ key.mT, query @ column_key.mT
        local_visible = mask[:, None, :, None]  # (batch, 1, rows, 1, stride)
        other_row = ~torch.eye(mask.size(1), dtype=torch.bool, device=mask.device)  # the own row is local
        column_visible = mask[:, None, :, -columns:].flatten(2)[:, :, None, None]
        column_visible = column_visible & other_row.repeat_interleave(columns, 1)[:, None]
        scores = at_least_float32(torch.cat([local, column], dim=4)) / math.sqrt(query.size(4))
        hidden = ~torch.cat([local_visible.expand_as(local), column_visible.expand_as(column)], dim=4)
        local, column = masked_softmax(scores, hidden).to(value.dtype).split([stride, column.size(4)], dim=4)
        mixed = local @ value + column @ column_value
        return merge_heads(mixed.flatten(2, 3)[:, :, : tokens.states.size(1)])
