"""Operations and bytes of every variant in closed form, as a check on what is counted, and to say what is held.

Operations are those of `sumpool.bench.measures.cost`: two for a multiplication and an addition, linear maps apart from
products of activations. Bytes are of float32. Everything is for one document and one layer.

Table 1 of Pietruszka et al. gives the products alone, without the two (scores, mixing of values) and without the maps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sumpool.bench.measures.cost import Operations
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.lsh import LshAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.hepos import HeposCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling._base import PoolerConfig

BYTES = 4


@dataclass(frozen=True)
class StepState:
    """Numbers that a layer holds for its backward pass.

    Attributes:
        keys_values: Keys and values.
        weights: Attention weights, where the kernel does not work them out again (a fused one does).
        activations: What else is needed: the inputs of the linear maps, and queries.
    """

    keys_values: int = 0
    weights: int = 0
    activations: int = 0

    def __add__(self, other: "StepState") -> "StepState":
        return StepState(
            self.keys_values + other.keys_values, self.weights + other.weights, self.activations + other.activations
        )


@dataclass(frozen=True)
class Cost:
    """What one part of a layer computes and holds."""

    operations: Operations
    held: StepState = StepState()

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.operations + other.operations, self.held + other.held)


NOTHING = Cost(Operations())


def linear(rows: int, inputs: int, outputs: int) -> int:
    """Operations of a linear map of so many vectors."""
    return 2 * rows * inputs * outputs


def attend(queries: int, keys: int, dim: int) -> int:
    """Operations of scores and mixing: two products of queries and keys over all heads together."""
    return 2 * 2 * queries * keys * dim


def self_attention(attention: AttentionConfig, length: int, dim: int, heads: int) -> Cost | None:
    """Cost of one self-attention; None where no formula is known for its kind."""
    formula = _SELF_ATTENTION.get(attention.kind)
    return formula(attention, length, dim, heads) if formula else None


def pooling(pool: PoolerConfig, length: int, dim: int) -> Cost | None:
    """Cost of one pooling; None where no formula is known for its kind, its scorer or its boundaries.

    A linear scorer is a product with one direction. Mixing what stands behind a vector reads every vector once, which
    is no product of matrices and is not counted; but iterative pooling sums up all that it never takes out by one.
    """
    parts = (getattr(pool, "scorer", None), getattr(pool, "boundaries", None))
    if pool.kind not in _POOLERS or any(part and part.kind not in _FREE | {"linear"} for part in parts):
        return None
    linear_scorer = any(part and part.kind == "linear" for part in parts)
    once = linear(length, dim, 1)
    return Cost(Operations(once if linear_scorer else 0, once if pool.kind == "iterative" else 0))


def feed_forward(length: int, dim: int, width: int) -> Cost:
    """Cost of two linear maps."""
    return Cost(Operations(maps=2 * linear(length, dim, width)), StepState(activations=length * (dim + width)))


def cross_attention(config: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost | None:
    """Cost of a cross-attention of a summary with a memory of so many vectors, their projection included.

    None where no formula is known for its kind.
    """
    formula = CROSS_ATTENTION.get(config.kind)
    return formula(config, target, length, dim, heads) if formula else None


def encoder(config: ModelConfig, lengths: tuple[int, ...]) -> Cost | None:
    """Cost of a whole encoder; None where one of its parts has no formula.

    Args:
        config: The model.
        lengths: Vectors that enter each layer.
    """
    total = NOTHING
    for layer, length in zip(config.encoder, lengths, strict=True):
        attention = self_attention(layer.attention, length, config.dim, config.heads)
        pooled = pooling(layer.pool, length, config.dim) if layer.pool else NOTHING
        if attention is None or pooled is None:
            return None
        total += attention + pooled + feed_forward(length, config.dim, config.feed_forward)
    return total


def decoder(config: ModelConfig, target: int, memory: int) -> Cost | None:
    """Cost of a whole decoder over a memory, without the output head; a causal mask saves nothing.

    None where its cross-attention has no formula.
    """
    self_attention = _vanilla(config, target, config.dim, config.heads)
    seen = cross_attention(config.decoder.cross_attention, target, memory, config.dim, config.heads)
    if seen is None:
        return None
    layer = self_attention + seen + feed_forward(target, config.dim, config.feed_forward)
    total = NOTHING
    for _ in range(config.decoder.layers):
        total += layer
    return total


def _vanilla(settings: object, length: int, dim: int, heads: int) -> Cost:
    del settings
    return _dense(length, length, dim, heads)


def _blockwise(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    assert isinstance(settings, BlockwiseAttentionConfig)
    block = min(settings.block, length)
    rest = length % block  # tokens of a shorter last block
    return _dense(length - rest, block, dim, heads) + _dense(rest, rest, dim, heads)


def _sliding_window(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Chunks of half a window see themselves and their neighbours; linear maps are not filled up, chunks are.

    The first token's own projections act on its query and on what each of its heads mixes, twice dim by dim.
    """
    assert isinstance(settings, SlidingWindowAttentionConfig)
    reach = settings.window // 2
    whole = length <= 3 * reach
    chunk, seen = (length, length) if whole else (reach, 3 * reach)
    filled = -(-length // chunk) * chunk
    operations = Operations(linear(length, dim, 4 * dim), attend(filled, seen + settings.global_first, dim))
    if settings.global_first:
        operations += Operations(linear(1, dim, dim), 2 * linear(1, dim, dim) + attend(heads, length, dim))
    return Cost(operations, StepState(2 * length * dim, heads * filled * seen, 3 * length * dim))


def _dense(length: int, seen: int, dim: int, heads: int) -> Cost:
    """Cost of a self-attention in which every token sees so many."""
    operations = Operations(linear(length, dim, 4 * dim), attend(length, seen, dim))
    return Cost(operations, StepState(2 * length * dim, heads * length * seen, 3 * length * dim))


def _efficient(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Templates of the document, and every query's mixture of them: head_dim takes the place of the keys."""
    del settings
    operations = Operations(linear(length, dim, 4 * dim), attend(length, dim // heads, dim))
    return Cost(operations, StepState(2 * length * dim, dim * dim // heads, 3 * length * dim))


def _lsh(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Heads that hash see two chunks in each round, local ones three; every round turns the queries."""
    assert isinstance(settings, LshAttentionConfig)
    bucket, local = settings.bucket, settings.local_heads
    filled = -(-length // bucket) * bucket
    directions = min(-(-length // (2 * bucket)), 512)
    hashing = settings.hashes * (heads - local)
    chunks = 2 * hashing + 3 * local
    operations = Operations(
        linear(filled, dim, 3 * dim),
        attend(filled, bucket * chunks, dim // heads) + hashing * linear(filled, dim // heads, directions),
    )
    return Cost(operations, StepState(2 * length * dim, filled * bucket * chunks, 2 * length * dim))


def _full(settings: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    del settings
    maps = 2 * linear(target, dim, dim) + linear(length, dim, 2 * dim)
    held = StepState(2 * length * dim, heads * target * length, 3 * target * dim)
    return Cost(Operations(maps, attend(target, length, dim)), held)


def _hepos(settings: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    """Each head projects and sees a stride of the memory, filled up to a whole one."""
    assert isinstance(settings, HeposCrossAttentionConfig)
    return _full(settings, target, -(-length // settings.stride), dim, heads)


_SELF_ATTENTION: Mapping[str, Callable[[AttentionConfig, int, int, int], Cost]] = {
    "vanilla": _vanilla,
    "blockwise": _blockwise,
    "sliding_window": _sliding_window,
    "efficient": _efficient,
    "lsh": _lsh,
}
CROSS_ATTENTION: Mapping[str, Callable[[CrossAttentionConfig, int, int, int, int], Cost]] = {
    "full": _full,
    "hepos": _hepos,
}
"""Cross-attentions whose cost does not depend on what a document says."""
_POOLERS = {"halving", "hard", "iterative", "funnel", "segments"}
_FREE = {"strided", "random", "fixed"}
"""Scorers and boundaries without a product of matrices."""
