"""Keeping padding out of results."""

import math

from torch import Tensor
from torch.nn import functional as F


def hide(states: Tensor, mask: Tensor) -> Tensor:
    """Set padding to zero, whatever stood there: a weight of zero alone would let NaN through.

    Args:
        states: (batch, length, dim).
        mask: (batch, length), True at real tokens.
    """
    return states.masked_fill(~mask[..., None], 0.0)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Scaled dot-product attention; a document without a real token gets zeros.

    Args:
        query: (batch, heads, target, head_dim).
        key: (batch, heads, length, head_dim).
        value: (batch, heads, length, head_dim), finite everywhere.
        mask: (batch, length), True at the keys that may be seen; None where all may, which is faster.

    Returns:
        (batch, heads, target, head_dim).
    """
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value)
    seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
    return seen.masked_fill(~mask.any(1)[:, None, None, None], 0.0)  # softmax over nothing is no number


def mass(query: Tensor, key: Tensor, mask: Tensor, itself: bool) -> Tensor:
    """Sum the attention that every key gets from all real queries of scaled dot-product attention.

    Args:
        query: (batch, heads, length, head_dim).
        key: (batch, heads, length, head_dim).
        mask: (batch, length), True at real tokens.
        itself: Whether what a token gives itself counts.

    Returns:
        (batch, length), averaged over the heads; 0 at padding.
    """
    total = query.new_zeros(mask.shape)
    for head_query, head_key in zip(query.unbind(1), key.unbind(1), strict=True):  # one (length, length) at a time
        scores = head_query @ head_key.transpose(1, 2) / math.sqrt(query.size(-1))
        weights = scores.masked_fill(~mask[:, None], -math.inf).softmax(-1).masked_fill(~mask[..., None], 0.0)
        if not itself:
            weights = weights - weights.diagonal(dim1=1, dim2=2).diag_embed()
        total = total + weights.sum(1)
    return (total / query.size(1)).masked_fill(~mask, 0.0)
