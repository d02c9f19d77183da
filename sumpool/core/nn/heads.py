"""Between vectors and the heads that look at them."""

from torch import Tensor


def split_heads(states: Tensor, heads: int) -> Tensor:
    """Give every head its share of the features: (batch, length, dim) -> (batch, heads, length, head_dim)."""
    batch, length, dim = states.shape
    return states.view(batch, length, heads, dim // heads).transpose(1, 2)


def merge_heads(states: Tensor) -> Tensor:
    """Put the heads side by side again: (batch, heads, length, head_dim) -> (batch, length, dim)."""
    return states.transpose(1, 2).flatten(2)
