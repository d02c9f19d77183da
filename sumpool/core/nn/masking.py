"""Keeping padding out of results."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from sumpool.core.nn.numerics import at_least_float32

Bias = Callable[[slice], Tensor | None]
"""Says what is added to the scores of a range of queries, (batch, heads, queries, length); None for nothing."""

_WEIGHTS_AT_ONCE = 2**24
"""Attention weights that are held at a time, over batch, heads, queries and keys: 64 MB in float32."""


def pad_id(embedding: nn.Embedding) -> int:
    """Return the id of padding in an embedding, its `padding_idx`."""
    assert embedding.padding_idx is not None, "embeddings of vocabularies have a padding_idx"
    return embedding.padding_idx


def zero_padding(states: Tensor, mask: Tensor) -> Tensor:
    """Set padding to zero, whatever stood there: a weight of zero alone would let NaN through.

    Args:
        states: (batch, length, dim).
        mask: (batch, length), True at real tokens.
    """
    return states.masked_fill(~mask[..., None], 0.0)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention; a document without a real token gets zeros.

    Args:
        query: (batch, heads, target, head_dim).
        key: (batch, heads, length, head_dim).
        value: (batch, heads, length, head_dim), finite everywhere.
        mask: (batch, length), True at the keys that may be seen; None where all may, which is faster.
        bias: (batch, heads, target, length), added to the scaled products; None for nothing, which is faster.

    Returns:
        (batch, heads, target, head_dim).
    """
    if bias is not None:
        bias = bias.to(query.dtype)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    seen = mask[:, None, None, :]
    mixed = F.scaled_dot_product_attention(
        query, key, value, attn_mask=seen if bias is None else bias.masked_fill(~seen, -math.inf)
    )
    return mixed.masked_fill(~mask.any(1)[:, None, None, None], 0.0)  # softmax over nothing is no number


def precompute_mask(mask: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Work out once what `attend` would at every call, for keys and values that are asked again and again.

    Args:
        mask: (batch, heads or 1, length), True at the keys that may be seen.
        value: (batch, heads, length, head_dim), finite everywhere.

    Returns:
        What to add to the scaled products, (batch, heads or 1, 1, length), and the values to mix, of which zeros come
        where nothing may be seen.
    """
    some = mask.any(-1, keepdim=True)
    bias = value.new_zeros(mask.shape).masked_fill_(~mask & some, -math.inf)
    return bias[:, :, None], value.masked_fill(~some[..., None], 0.0)


def attention_received(query: Tensor, key: Tensor, mask: Tensor, itself: bool, bias: Bias) -> Tensor:
    """Sum the attention that every key gets from all real queries of scaled dot-product attention.

    As many queries at a time as fit into a fixed number of weights, worked out once more on the way back: memory stays
    O(length), at any length.

    Args:
        query: (batch, heads, length, head_dim), finite everywhere.
        key: (batch, heads, length, head_dim), finite everywhere.
        mask: (batch, length), True at real tokens.
        itself: Whether what a token gives itself counts.
        bias: What is added to the scaled products.

    Returns:
        (batch, length), averaged over the heads; 0 at padding.
    """
    batch, heads, length, _ = query.shape
    step = max(1, _WEIGHTS_AT_ONCE // max(1, batch * heads * length))
    total = at_least_float32(query.new_zeros(mask.shape))
    for first in range(0, length, step):
        some = slice(first, first + step)
        total = total + checkpoint(
            _given, query, key, mask, itself, bias, some, use_reentrant=False, preserve_rng_state=False
        )
    return total / heads


def _given(query: Tensor, key: Tensor, mask: Tensor, itself: bool, bias: Bias, queries: slice) -> Tensor:
    """Sum the attention that every key gets from some queries, over the heads: (batch, length)."""
    scores = at_least_float32(query[:, :, queries] / math.sqrt(query.size(-1)) @ key.transpose(2, 3))
    added = bias(queries)
    if added is not None:
        scores = scores + added
    weights = scores.masked_fill_(~mask[:, None, None], -math.inf).softmax(-1)  # (batch, heads, queries, length)
    if not itself:
        numbers = torch.arange(mask.size(1), device=mask.device)
        weights = weights.masked_fill(numbers[queries, None] == numbers, 0.0)
    asking = mask[:, None, None, queries].to(weights.dtype)
    with torch.autocast(query.device.type, enabled=False):  # would round the weights
        return (asking @ weights).sum((1, 2)).masked_fill(~mask, 0.0)
