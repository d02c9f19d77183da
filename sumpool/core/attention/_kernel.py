"""Linear-time attention by a kernel: the weight of a key is the product of features of query and key, normalised.

The Gaussian kernel of queries and keys is exp(-|q - k|^2 / (2 sqrt(head_dim))) (Chen et al., 2021, "Skyformer").
"""

from abc import abstractmethod

from torch import Tensor

from sumpool.core.attention._base import Attention
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.tokens import Tokens


class KernelAttention(Attention):
    """Attention whose weights are products of non-negative features, divided by their sum over the keys.

    Keys and values are multiplied first: O(length * dim * features), and no weight is ever materialised.
    """

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        query, key = self._features(query, key, tokens.mask)
        mixed = matmul_exactly(query, matmul_exactly(key.mT, value))
        sums = matmul_exactly(query, key.sum(2)[..., None])  # (batch, heads, length, 1), 0 without visible keys
        return merge_heads((mixed / sums.masked_fill(sums == 0, 1.0)).to(value.dtype))

    def _features(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Features of queries and keys, (batch, heads, length, features) each, those of keys 0 at padding."""
        query, key = self._feature_map(at_least_float32(query), at_least_float32(key), mask)
        return query, key.masked_fill(~mask[:, None, :, None], 0.0)

    @abstractmethod
    def _feature_map(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Map queries and keys (batch, heads, length, head_dim) to non-negative features; any value at padding."""


def scale(states: Tensor) -> Tensor:
    """Divide queries or keys (batch, heads, length, head_dim) by head_dim^(1/4), at least in float32."""
    scaled: Tensor = at_least_float32(states) * states.size(-1) ** -0.25
    return scaled


def log_kernel(left: Tensor, right: Tensor) -> Tensor:
    """Logarithm of the kernel, at most 0 up to rounding.

    Args:
        left: (batch, heads, rows, head_dim), scaled.
        right: (batch, heads, columns, head_dim), scaled.

    Returns:
        (batch, heads, rows, columns).
    """
    return matmul_exactly(left, right.mT) + (minus_half_square(left) + minus_half_square(right).mT)


def minus_half_square(states: Tensor) -> Tensor:
    """Return -|x|^2 / 2 of vectors (..., dim), (..., 1)."""
    return states.square().sum(-1, keepdim=True) / -2
