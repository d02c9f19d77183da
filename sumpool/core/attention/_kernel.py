"""Linear-time attention by a kernel: the weight of a key is the product of features of query and key, normalised.

The Gaussian kernel of queries and keys is exp(-|q - k|^2 / (2 sqrt(head_dim))) (Chen et al., 2021, "Skyformer").
"""

from abc import abstractmethod

from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.tokens import Tokens

CHUNK = 64
"""Tokens of a chunk of causal attention."""


class KernelAttention(Attention):
    """Attention whose weights are products of non-negative features, divided by their sum over the keys.

    Keys and values are multiplied first: O(length * dim * features), and no weight is ever materialised. Causal
    attention adds up the products of chunks of `CHUNK` tokens, and has explicit weights within a chunk.
    """

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        query, key = self._features(query, key, tokens.mask)
        if self.causal:
            mixed = _mix_earlier(query, key, value)
        else:
            mixed = matmul_exactly(query, matmul_exactly(key.transpose(2, 3), value))
        return merge_heads((mixed / self._row_sums(query, key)).to(value.dtype))

    def _row_sums(self, query: Tensor, key: Tensor) -> Tensor:
        """Sum of the weights of each query before normalisation, (batch, heads, length, 1); 1 without visible keys."""
        if self.causal:
            sums = (query * key.cumsum(2)).sum(3, keepdim=True)
        else:
            sums = matmul_exactly(query, key.sum(2)[..., None])
        return sums.masked_fill(sums == 0, 1.0)

    def _features(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Features of queries and keys, (batch, heads, length, features) each, those of keys 0 at padding."""
        query, key = self._feature_map(at_least_float32(query), at_least_float32(key), mask)
        return query, key.masked_fill(~mask[:, None, :, None], 0.0)

    @abstractmethod
    def _feature_map(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Map queries and keys (batch, heads, length, head_dim) to non-negative features; any value at padding."""


def _mix_earlier(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Weighted sums of the values of the same and earlier tokens, not normalised, (batch, heads, length, head_dim).

    Args:
        query: (batch, heads, length, features).
        key: The same, 0 at padding.
        value: (batch, heads, length, head_dim).
    """
    length, rest = query.size(2), -query.size(2) % CHUNK
    query, key, value = (F.pad(part, (0, 0, 0, rest)).unflatten(2, (-1, CHUNK)) for part in (query, key, value))
    context = matmul_exactly(key.mT, value)  # (batch, heads, chunks, features, head_dim)
    earlier = F.pad(context[:, :, :-1].cumsum(2), (0, 0, 0, 0, 1, 0))
    local = matmul_exactly(query, key.mT).tril()  # (batch, heads, chunks, CHUNK, CHUNK)
    mixed = matmul_exactly(query, earlier) + matmul_exactly(local, value)
    return mixed.flatten(2, 3)[:, :, :length]


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
