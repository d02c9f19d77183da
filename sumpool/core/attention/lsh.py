"""LSH attention (Kitaev et al., 2020, "Reformer"): a token sees those whose vectors point its way, and local ones.

Queries are keys too, so that a random rotation puts those that would attend to each other into one bucket. Tokens are
sorted by bucket, then by place, and cut into chunks; a token sees its chunk and the one before, and itself only where
there is nobody else. Several rotations make several rounds, whose sets of seen tokens are united: one softmax over the
union, put together from the rounds by logsumexp (their appendix A). As in the library that Pietruszka et al. took,
some heads are local instead: they see the block of `bucket` tokens that they stand in, and those on either side.
O(hashes * length * bucket * dim), and O(length^2 / bucket * dim / heads) for hashing, up to 1,024 buckets.

Departures from the released codes: padding is sorted last and never seen (there, automatic padding is attended), and
buckets are counted by a document's real tokens, so that neither padding nor batch mates change where a token falls;
any length works; a token seen in several rounds counts once, as in the paper; the first chunk has none before it
(there, the last one, of another round); rotations are fixed by a seed and not drawn anew in each step.
"""

import math
from dataclasses import dataclass
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import Attention, AttentionConfig, all_real
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.numerics import at_least_float32

_DIRECTIONS = 512
"""Most directions of a rotation. There are two buckets to each; documents with more share these."""

_HIDDEN = -1e30
"""Score of what is not seen: no weight beside any other score, and unlike -inf no NaN where there is no other."""


@final
class LshAttentionConfig(AttentionConfig):
    """Settings of LSH attention."""

    kind: Literal["lsh"] = "lsh"
    bucket: int = Field(64, ge=1)
    """Tokens of a chunk, and of a bucket on average."""
    hashes: int = Field(4, ge=1, le=64)
    """Rounds of hashing; more find more of what a token should see."""
    local_heads: int = Field(2, ge=0)
    """Heads that see the tokens around them instead of hashing; fewer than all."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Seed of the rotations."""

    def build(self, dim: int, heads: int) -> "LshAttention":
        """Build the layer.

        Raises:
            ValueError: No head is left to hash.
        """
        if self.local_heads >= heads:
            raise ValueError(f"local_heads must be less than heads = {heads}, got {self.local_heads}; lower it")
        return LshAttention(self, dim, heads)


@dataclass(frozen=True)
class _Round:
    """Who may see whom, in chunks.

    Attributes:
        queries: (batch, heads, chunks, size), numbers of the tokens of each chunk.
        keys: (batch, heads, chunks, window), numbers of the tokens that these may see; -1 where there are none.
        place: (batch, heads, length), where each token stands when the chunks are put one behind the other.
    """

    queries: Tensor
    keys: Tensor
    place: Tensor

    @property
    def chunk(self) -> Tensor:
        """(batch, heads, length), the chunk of each token."""
        return self.place // self.queries.size(3)


@final
class LshAttention(Attention):
    """Tokens see those that point their way, or those around them."""

    rotations: Tensor

    def __init__(self, config: LshAttentionConfig, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.hashing = heads - config.local_heads
        self.bucket = config.bucket
        self.project = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)
        generator = torch.Generator().manual_seed(config.seed)
        rotations = torch.randn(config.hashes, dim // heads, _DIRECTIONS, generator=generator, device="cpu")
        self.register_buffer("rotations", rotations, persistent=False)

    def forward(self, states: Tensor, mask: Tensor | None, positions: Tensor) -> Tensor:
        """Mix (batch, length, dim); see `Attention.forward`."""
        del positions
        length = states.size(1)
        query, value, mask = self._project(states, all_real(states) if mask is None else mask)
        hashing, local = self._look(query, mask)
        mixed = [
            _mix(query[:, : self.hashing], value[:, : self.hashing], mask, hashing),
            _mix(query[:, self.hashing :], value[:, self.hashing :], mask, local),
        ]
        out: Tensor = self.out(merge_heads(torch.cat(mixed, dim=1)))
        return out[:, :length]

    def attention_received(self, states: Tensor, mask: Tensor, positions: Tensor, itself: bool) -> Tensor:
        """Sum what every token gets, from the same chunks; O(hashes * length * bucket * dim) again."""
        del positions
        length = states.size(1)
        query, _, mask = self._project(states, mask)
        hashing, local = self._look(query, mask)
        attention_received = [
            _receive(query[:, : self.hashing], mask, hashing, itself),
            _receive(query[:, self.hashing :], mask, local, itself),
        ]
        return torch.cat(attention_received, dim=1).mean(1)[:, :length]

    def _project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Fill up to whole chunks: queries that are keys too and values, (batch, heads, length, head_dim), mask."""
        rest = -states.size(1) % self.bucket
        projected = self.project(F.pad(states, (0, 0, 0, rest)))
        query, value = (split_heads(part, self.heads) for part in projected.chunk(2, dim=-1))
        return query, value, F.pad(mask, (0, rest))

    def _look(self, query: Tensor, mask: Tensor) -> tuple[list[_Round], list[_Round]]:
        """Say who may see whom: the rounds of the heads that hash, and the only one of the local heads."""
        hashed = query[:, : self.hashing].detach()
        hashing = [_cut(self._sort(hashed, mask, rotation), self.bucket, ahead=False) for rotation in self.rotations]
        numbers = torch.arange(query.size(2), device=query.device).expand(query[:, self.hashing :].shape[:3])
        return hashing, [_cut(numbers, self.bucket, ahead=True)]

    def _sort(self, query: Tensor, mask: Tensor, rotation: Tensor) -> Tensor:
        """Hash (batch, heads, length, head_dim): numbers of the tokens by bucket, then by place; padding comes last."""
        directions = (mask.sum(1) / (2 * self.bucket)).ceil().clamp(1, _DIRECTIONS)
        most = int(directions.max())
        offered = torch.arange(most, device=mask.device) < directions[:, None, None, None]
        turned = query @ rotation[:, :most].to(query.dtype)  # (batch, heads, length, directions)
        both = torch.cat([turned.masked_fill(~offered, -math.inf), (-turned).masked_fill(~offered, -math.inf)], dim=3)
        bucket = both.argmax(3).masked_fill(~mask[:, None], 2 * most)
        return bucket.argsort(dim=2, stable=True)


def _cut(order: Tensor, size: int, ahead: bool) -> _Round:
    """Cut tokens in this order (batch, heads, length) into chunks that see the one before, and perhaps the next."""
    queries = order.unflatten(2, (-1, size))
    nobody = torch.full_like(queries[:, :, :1], -1)
    before = torch.cat([nobody, queries[:, :, :-1]], dim=2)
    behind = [torch.cat([queries[:, :, 1:], nobody], dim=2)] if ahead else []
    return _Round(queries, torch.cat([before, queries, *behind], dim=3), order.argsort(dim=2))


def _take(values: Tensor, index: Tensor) -> Tensor:
    """Pick from (batch, heads, length, ...) by index (batch, heads, ...), anything at -1."""
    flat = index.clamp(min=0).flatten(2)
    if values.dim() == 4:
        flat = flat[..., None].expand(-1, -1, -1, values.size(3))
    return values.gather(2, flat).view(*index.shape, *values.shape[3:])


def _weigh(query: Tensor, mask: Tensor, rounds: list[_Round]) -> list[Tensor]:
    """Share every real token's attention out over the rounds and whom it sees in each.

    Returns:
        (batch, heads, chunks, size, window) for each round; together they sum to one for each token.
    """
    key = F.normalize(at_least_float32(query), dim=3).to(query.dtype)
    real = mask[:, None].expand(query.shape[:3])
    seen = [_take(real, this.keys) & (this.keys >= 0) for this in rounds]  # (batch, heads, chunks, window)
    # In its own chunk a token meets itself: who sees more than one real token has company.
    company = torch.stack([_take(some.sum(3) > 1, this.chunk) for some, this in zip(seen, rounds, strict=True)]).any(0)
    scores: list[Tensor] = []
    for this, some in zip(rounds, seen, strict=True):
        products = _take(query, this.queries) @ _take(key, this.keys).transpose(3, 4)
        products = at_least_float32(products) / math.sqrt(query.size(3))
        itself = this.queries[..., None] == this.keys[..., None, :]
        hidden = ~some[..., None, :] | (itself & _take(company, this.queries)[..., None])
        often = _count(this, rounds).to(products.dtype)
        scores.append((products - often.log()).masked_fill(hidden, _HIDDEN))
    sums = [_take(some.logsumexp(4).flatten(2), this.place) for some, this in zip(scores, rounds, strict=True)]
    total = torch.stack(sums).logsumexp(0)  # (batch, heads, length)
    return [(some - _take(total, this.queries)[..., None]).exp() for some, this in zip(scores, rounds, strict=True)]


def _count(this: _Round, rounds: list[_Round]) -> Tensor:
    """Count the rounds in which a token sees what it may see in this one: (batch, heads, chunks, size, window)."""
    count = torch.ones(*this.queries.shape, this.keys.size(3), device=this.keys.device)
    for other in rounds:
        if other is not this:
            chunk = other.chunk.int()
            ahead = _take(chunk, this.queries)[..., None] - _take(chunk, this.keys)[..., None, :]
            count += (ahead == 0) | (ahead == 1)
    return count


def _mix(query: Tensor, value: Tensor, mask: Tensor, rounds: list[_Round]) -> Tensor:
    """Mix values (batch, heads, length, head_dim)."""
    mixed = torch.zeros_like(value)
    for this, weights in zip(rounds, _weigh(query, mask, rounds), strict=True):
        chunks = weights.to(value.dtype) @ _take(value, this.keys)  # (batch, heads, chunks, size, head_dim)
        mixed = mixed + _take(chunks.flatten(2, 3), this.place)
    return mixed


def _receive(query: Tensor, mask: Tensor, rounds: list[_Round], itself: bool) -> Tensor:
    """Sum what every token gets in each head: (batch, heads, length)."""
    real = mask[:, None].expand(query.shape[:3])
    attention_received = at_least_float32(query.new_zeros(query.shape[:3]))
    for this, weights in zip(rounds, _weigh(query, mask, rounds), strict=True):
        counted = _take(real, this.queries)[..., None].expand_as(weights)
        if not itself:
            counted = counted & (this.queries[..., None] != this.keys[..., None, :])
        given = weights.masked_fill(~counted, 0.0).sum(3)  # (batch, heads, chunks, window)
        attention_received = attention_received.scatter_add(2, this.keys.clamp(min=0).flatten(2), given.flatten(2))
    return attention_received
