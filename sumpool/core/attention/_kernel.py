"""Linear-time attention by a kernel: the weight of a key is the product of features of query and key, normalised."""

from abc import abstractmethod

from torch import Tensor

from sumpool.core.attention._base import Attention, full_mask
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly


class KernelAttention(Attention):
    """Attention whose weights are products of non-negative features, divided by their sum over the keys.

    Keys and values are multiplied first: O(length * dim * features), and no weight is ever materialised. The attention
    received by a key is exact without them.
    """

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Attend over whole documents; see `Attention.forward`."""
        mask = full_mask(states) if mask is None else mask
        query, key, value = self._project(states, positions)
        query, key = self._features(query, key, mask)
        context = matmul_exactly(key.transpose(2, 3), value)  # (batch, heads, features, head_dim)
        mixed = matmul_exactly(query, context) / _row_sums(query, key)
        out: Tensor = self.out(merge_heads(mixed.to(value.dtype)))
        return out

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, include_self: bool) -> Tensor:
        """Product of the features of each key and the sum of those of all queries, O(length * features)."""
        query, key, _ = self._project(states, positions)
        query, key = self._features(query, key, mask)
        query = (query / _row_sums(query, key)).masked_fill(~mask[:, None, :, None], 0.0)
        query_sum = query.sum(2, keepdim=True)  # (batch, heads, 1, features)
        return (key * (query_sum if include_self else query_sum - query)).sum(3).mean(1)

    def _features(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Features of queries and keys, (batch, heads, length, features) each, those of keys 0 at padding."""
        query, key = self._feature_map(at_least_float32(query), at_least_float32(key), mask)
        return query, key.masked_fill(~mask[:, None, :, None], 0.0)

    @abstractmethod
    def _feature_map(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Map queries and keys (batch, heads, length, head_dim) to non-negative features; any value at padding."""


def _row_sums(query: Tensor, key: Tensor) -> Tensor:
    """Sum of the weights of each query before normalisation, (batch, heads, length, 1); 1 where no key is visible."""
    sums = matmul_exactly(query, key.sum(2)[..., None])
    return sums.masked_fill(sums == 0, 1.0)
