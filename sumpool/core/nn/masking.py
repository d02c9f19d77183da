"""Keeping padding out of results."""

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
