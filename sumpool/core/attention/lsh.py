"""LSH attention (Kitaev et al., 2020, "Reformer") in some heads, local attention in the others.

Queries double as keys, so that a random rotation hashes tokens with similar vectors into the same bucket. Tokens are
sorted by bucket, then by position, and split into chunks; a token attends to its chunk and the chunk before it, and to
itself only if no other token is visible. Several rotations give several hash rounds, whose visible sets are united: one
softmax over the union, combined from the rounds by logsumexp (their appendix A). As in the library that Pietruszka et
al. used, some heads are local instead and attend to the block of `bucket` tokens around a token and both neighbouring
blocks. Cost: O(hashes * length * bucket * dim), plus O(length^2 / bucket * dim / heads) for hashing up to 1,024
buckets.

Departures from the released codes: padding is sorted last and never visible (released: automatic padding is attended
to); the number of buckets follows the real tokens of a document, so that neither padding nor batch mates change the
bucket of a token; any length is allowed; a token visible in several rounds counts once, as in the paper; the first
chunk has no predecessor (released: the last chunk of another round); rotations are fixed by a seed instead of drawn
anew in each step.
"""

import math
from dataclasses import dataclass
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig, known_lengths
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens

_MAX_DIRECTIONS = 512
"""Largest number of directions per rotation. A direction has two buckets; longer documents share these."""

_MASKED_SCORE = -1e30
"""Score of a masked key: weight 0 beside any other score, and unlike -inf no NaN in a row without other scores."""


@final
class LshAttentionConfig(AttentionConfig):
    """Settings of LSH attention."""

    kind: Literal["lsh"] = "lsh"
    bucket: int = Field(64, ge=1, le=10_000_000)
    """Tokens per chunk, and average number of tokens per hash bucket."""
    hashes: int = Field(4, ge=1, le=64)
    """Hash rounds; more rounds approximate full attention more closely."""
    local_heads: int = Field(2, ge=0, le=128)
    """Heads with local attention instead of hashing; fewer than `model.heads`."""


@dataclass(frozen=True)
class _HashRound:
    """Chunks of one hash round, or of the local heads.

    Attributes:
        queries: (batch, heads, chunks, size), indices of the tokens of each chunk.
        keys: (batch, heads, chunks, window), indices of the tokens visible to the chunk; -1 where there is none.
        rank: (batch, heads, length), rank of each token in the concatenation of the chunks.
    """

    queries: Tensor
    keys: Tensor
    rank: Tensor

    @property
    def chunk(self) -> Tensor:
        """(batch, heads, length), index of the chunk of each token."""
        return self.rank // self.queries.size(3)


@final
class LshAttention(Attention):
    """LSH attention and local attention, split over the heads."""

    projections = 2
    rotations: Tensor

    def __init__(self, config: LshAttentionConfig, dim: int, heads: int) -> None:
        if config.local_heads >= heads:
            raise ValueError(f"local_heads must be less than heads = {heads}, got {config.local_heads}; lower it")
        super().__init__(config, dim, heads)
        self.hash_heads = heads - config.local_heads
        self.bucket = config.bucket
        generator = torch.Generator().manual_seed(0)
        rotations = torch.randn(config.hashes, dim // heads, _MAX_DIRECTIONS, generator=generator, device="cpu")
        self.register_buffer("rotations", rotations, persistent=False)

    def _mix(self, tokens: Tokens) -> Tensor:
        rest = -tokens.states.size(1) % self.bucket  # to whole chunks
        mask = F.pad(tokens.mask, (0, rest))
        projected = self.project(F.pad(tokens.states, (0, 0, 0, rest)))
        heads = (self.hash_heads, self.heads - self.hash_heads)
        (hash_query, query), (hash_value, value) = (  # queries double as keys
            split_heads(part, self.heads).split(heads, dim=1) for part in projected.chunk(2, dim=-1)
        )
        most = min(max(1, math.ceil(max(known_lengths(tokens)) / (2 * self.bucket))), _MAX_DIRECTIONS)
        orders = (self._sort(hash_query.detach(), mask, most, rotation) for rotation in self.rotations)
        hashed = [_split_chunks(order, self.bucket, False) for order in orders]
        indices = torch.arange(query.size(2), device=query.device).expand(query.shape[:3])
        local = [_split_chunks(indices, self.bucket, True)]
        parts = []
        for of_heads, values, rounds in ((hash_query, hash_value, hashed), (query, value, local)):
            mixed = torch.zeros_like(values)
            for layout, weights in zip(rounds, _weights(of_heads, mask, rounds), strict=True):
                chunks = weights.to(values.dtype) @ _take(values, layout.keys)  # (batch, heads, chunks, size, head_dim)
                mixed = mixed + _take(chunks.flatten(2, 3), layout.rank)
            parts.append(mixed)
        return merge_heads(torch.cat(parts, dim=1))[:, : tokens.states.size(1)]

    def _sort(self, query: Tensor, mask: Tensor, most: int, rotation: Tensor) -> Tensor:
        """Token indices sorted by hash bucket, then by position, padding last: (batch, heads, length)."""
        directions = (mask.sum(1) / (2 * self.bucket)).ceil().clamp(1, _MAX_DIRECTIONS)
        used = torch.arange(most, device=mask.device) < directions[:, None, None, None]
        projected = query @ rotation[:, :most].to(query.dtype)  # (batch, heads, length, directions)
        both = torch.cat([projected.masked_fill(~used, -math.inf), (-projected).masked_fill(~used, -math.inf)], dim=3)
        bucket = both.argmax(3).masked_fill(~mask[:, None], 2 * most)
        return bucket.argsort(dim=2, stable=True)


def _weights(query: Tensor, mask: Tensor, rounds: list[_HashRound]) -> list[Tensor]:
    """Attention weights of one softmax over the union of the rounds.

    Returns:
        (batch, heads, chunks, size, window) for each round; over all rounds the weights of a token sum to 1.
    """
    key = F.normalize(at_least_float32(query), dim=3).to(query.dtype)
    real = mask[:, None].expand(query.shape[:3])
    visible = [_take(real, layout.keys) & (layout.keys >= 0) for layout in rounds]  # (batch, heads, chunks, window)
    # A token is in its own window: with two real tokens in it, another one is visible.
    has_others = torch.stack(
        [_take(keys.sum(3) > 1, layout.chunk) for layout, keys in zip(rounds, visible, strict=True)]
    ).any(0)
    scores: list[Tensor] = []
    for layout, keys in zip(rounds, visible, strict=True):
        products = _take(query, layout.queries) @ _take(key, layout.keys).transpose(3, 4)
        products = at_least_float32(products) / math.sqrt(query.size(3))
        is_self = layout.queries[..., None] == layout.keys[..., None, :]
        masked = ~keys[..., None, :] | (is_self & _take(has_others, layout.queries)[..., None])
        multiplicity = torch.ones(products.shape, device=products.device)  # rounds in which a pair is visible
        for other in rounds:
            if other is not layout:
                chunk = other.chunk.int()
                distance = _take(chunk, layout.queries)[..., None] - _take(chunk, layout.keys)[..., None, :]
                multiplicity += (distance == 0) | (distance == 1)
        scores.append((products - multiplicity.to(products.dtype).log()).masked_fill(masked, _MASKED_SCORE))
    sums = [_take(part.logsumexp(4).flatten(2), layout.rank) for part, layout in zip(scores, rounds, strict=True)]
    total = torch.stack(sums).logsumexp(0)  # (batch, heads, length)
    return [(part - _take(total, layout.queries)[..., None]).exp() for part, layout in zip(scores, rounds, strict=True)]


def _take(values: Tensor, index: Tensor) -> Tensor:
    """Gather from (batch, heads, length, ...) by index (batch, heads, ...); undefined at index -1."""
    flat = index.clamp(min=0).flatten(2)
    if values.dim() == 4:
        flat = flat[..., None].expand(-1, -1, -1, values.size(3))
    return values.gather(2, flat).view(*index.shape, *values.shape[3:])


def _split_chunks(order: Tensor, size: int, look_ahead: bool) -> _HashRound:
    """Split tokens in this order (batch, heads, length) into chunks.

    Visible are the chunk itself, the chunk before it and, with `look_ahead`, the chunk after it.
    """
    queries = order.unflatten(2, (-1, size))
    missing = torch.full_like(queries[:, :, :1], -1)
    before = torch.cat([missing, queries[:, :, :-1]], dim=2)
    after = [torch.cat([queries[:, :, 1:], missing], dim=2)] if look_ahead else []
    return _HashRound(queries, torch.cat([before, queries, *after], dim=3), order.argsort(dim=2))
