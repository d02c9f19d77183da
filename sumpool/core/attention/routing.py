"""Routing attention (Roy et al., 2021, "Routing Transformer"): attention within clusters of an online k-means.

Queries and keys are normalised, and each of `clusters` centroids of a head selects the queries and the keys of the
document with the largest products with it, length / clusters of each, or 64 if that is more. Selected
queries attend to selected keys; a query in several clusters averages over these, and one in none receives zeros, so
that the residual connection leaves its state unchanged. O(clusters * length * dim + length^2 / clusters * dim): with
sqrt(length) clusters O(length^1.5 * dim).

Centroids are no parameters, but moving averages of the queries and keys that are nearest to them. They move in the
backward pass of training, after every use of their former values, so that activation checkpointing does not see others;
they are saved with the weights.

Departures from the paper: the number of tokens of a cluster follows the real tokens of a document, and padding is in
no cluster and moves no centroid; a centroid moves towards the mean of its tokens (paper: their sum); all heads route
(paper: some are local), so layers with local attention should alternate with these.
"""

import math
from functools import partial
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig, known_lengths
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.masking import attend
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.tokens import Tokens

_RESOLUTION = 2.0**-12
"""Difference of the products of two tokens and a centroid below which the first token in the document is selected."""
MIN_CLUSTER_TOKENS = 64
"""Tokens of a cluster at least, as far as the document has so many."""
_DECAY = 0.999
"""Weight of the former centroid in each training step."""


@final
class RoutingAttentionConfig(AttentionConfig):
    """Settings of routing attention."""

    kind: Literal["routing"] = "routing"
    clusters: int = Field(16, ge=1, le=65_536)
    """Clusters of each head; about the square root of the length is cheapest."""


@final
class RoutingAttention(Attention):
    """Self-attention within clusters."""

    centroids: Tensor

    def __init__(self, config: RoutingAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads)
        self.clusters = config.clusters
        generator = torch.Generator().manual_seed(0)
        centroids = torch.randn(heads, config.clusters, dim // heads, generator=generator, device="cpu")
        self.register_buffer("centroids", F.normalize(centroids, dim=2))

    def _mix(self, tokens: Tokens) -> Tensor:
        mask = tokens.mask
        projected, key, value = self._project(tokens)
        query, key = (F.layer_norm(part, part.shape[3:]) for part in (projected, key))
        similar = [self._similarities(part) for part in (query, key)]
        if self.training and projected.requires_grad:
            # Sums (heads, clusters, head_dim) of the real queries and keys nearest to each centroid, and their numbers.
            sums, numbers = (torch.zeros_like(similar[0][0, :, :, :1]) for _ in range(2))
            for part, products in zip((query, key), similar, strict=True):
                nearest = F.one_hot(products.argmax(2), self.clusters).to(products.dtype) * mask[:, None, :, None]
                sums = sums + matmul_exactly(nearest.mT, part.detach()).sum(0)
                numbers = numbers + nearest.sum((0, 2))[..., None]
            # The gradient of the queries comes after all recomputation of activation checkpointing.
            projected.register_hook(partial(self._move_centroids, sums, numbers))
        # Tokens of all clusters, (batch, heads * clusters, size); a cluster of a head is treated as a head.
        longest = max(known_lengths(tokens))
        size = max(1, min(longest, max(MIN_CLUSTER_TOKENS, -(-longest // self.clusters))))
        queries, keys = (
            part.masked_fill(~mask[:, None, None], -math.inf).argsort(dim=3, descending=True, stable=True)
            for part in similar
        )
        queries, keys = queries[..., :size].flatten(1, 2), keys[..., :size].flatten(1, 2)
        counts = mask.sum(1, keepdim=True)  # (batch, 1)
        sizes = (-(-counts // self.clusters)).clamp(min=MIN_CLUSTER_TOKENS).minimum(counts)
        real = torch.arange(size, device=mask.device) < sizes  # (batch, size), True where a cluster has a token
        # Number of clusters of each query, (batch, heads, length, 1).
        ones = at_least_float32(query.new_ones(*queries.shape, 1)) * real[:, None, :, None]
        memberships = torch.zeros_like(ones[:, : self.heads, :1]).expand(-1, -1, mask.size(1), -1)
        memberships = memberships.scatter_add(2, *_by_head(queries, ones, self.heads))
        mixed = attend(_take(query, queries), _take(key, keys), _take(value, keys), real) * real[:, None, :, None]
        mixed = torch.zeros_like(value).scatter_add(2, *_by_head(queries, mixed, self.heads))
        return merge_heads(mixed * (1 / memberships.clamp(min=1)).to(mixed.dtype))

    def _similarities(self, values: Tensor) -> Tensor:
        """Products of queries or keys and all centroids, rounded, (batch, heads, clusters, length)."""
        centroids = F.normalize(at_least_float32(self.centroids), dim=2)
        values = at_least_float32(values.detach())
        # The products of equal tokens differ in their last bits, which depend on the shape of the batch.
        return (matmul_exactly(centroids.to(values.dtype), values.mT) / _RESOLUTION).round()

    def _move_centroids(self, sums: Tensor, counts: Tensor, _: Tensor) -> None:
        """Move centroids towards the means of their tokens, if they have any and all are finite."""
        with torch.no_grad():
            means = F.normalize(sums, dim=2).to(self.centroids.dtype)
            moved = torch.where(counts > 0, self.centroids.lerp(means, 1 - _DECAY), self.centroids)
            self.centroids.copy_(torch.where(moved.isfinite().all(), moved, self.centroids))


def _take(values: Tensor, index: Tensor) -> Tensor:
    """Gather (batch, heads * n, size) of (batch, heads, length, head_dim): (batch, heads * n, size, head_dim)."""
    flat = index.reshape(len(index), values.size(1), -1)[..., None].expand(-1, -1, -1, values.size(3))
    taken: Tensor = values.gather(2, flat)
    return taken.view(*index.shape, values.size(3))


def _by_head(index: Tensor, values: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Index and values (batch, heads * n, size, features) of a scatter per head, (batch, heads, n * size, features)."""
    by_head = values.reshape(len(values), heads, -1, values.size(3))
    return index.reshape(len(index), heads, -1)[..., None].expand_as(by_head), by_head
