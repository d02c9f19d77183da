"""Operations and bytes of every variant in closed form: a check of what is counted, and what a layer holds.

Operations are those of `sumpool.bench.measures.cost`: two for a multiplication and an addition, linear maps apart from
products of activations. Everything is for one document; functions of one part are for one layer. A variant without a
formula raises KeyError.

Table 1 of Pietruszka et al. gives the products alone, without the two (scores, mixing of values) and without the maps.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping

from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.bigbird import BigbirdAttentionConfig
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.lsh import LshAttentionConfig
from sumpool.core.attention.performer import PerformerAttentionConfig
from sumpool.core.attention.permuted_blocks import PermutedBlocksAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.attention.synthesizer import SynthesizerAttentionConfig
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.hepos import HeposCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling._base import PoolerConfig

BYTES = 4
"""Bytes of a number in float32."""


Cost = Counter[str]
"""Operations (`maps`, `products`), and numbers held for the backward pass: `keys_values`; attention `weights`, where a
kernel does not compute them again (a fused one does); and `activations`, inputs of linear maps and queries."""


def linear(rows: int, inputs: int, outputs: int) -> int:
    """Operations of a linear map of some vectors."""
    return 2 * rows * inputs * outputs


def attend(queries: int, keys: int, dim: int) -> int:
    """Operations of scores and mixing: two products of queries and keys over all heads together."""
    return 2 * 2 * queries * keys * dim


def self_attention(attention: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Cost of one self-attention."""
    return _SELF_ATTENTION[attention.kind](attention, length, dim, heads)


def pooling(pool: PoolerConfig, length: int, dim: int) -> Cost:
    """Cost of one pooling.

    A linear scorer is a product with one direction. Mixing the sources of a vector reads every vector once, which is no
    matrix product and is not counted; but iterative pooling sums up all that it never takes out by one.
    """
    parts = [part.kind for name in ("scorer", "boundaries") if (part := getattr(pool, name, None))]
    for kind in (pool.kind, *parts):
        if kind not in _POOLERS | _SCORERS:
            raise KeyError(kind)
    once = linear(length, dim, 1)
    return Counter(maps=once * ("linear" in parts), products=once * (pool.kind == "iterative"))


def feed_forward(length: int, dim: int, width: int) -> Cost:
    """Cost of two linear maps."""
    return Counter(maps=2 * linear(length, dim, width), activations=length * (dim + width))


def cross_attention(config: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    """Cost of a cross-attention of a summary to a memory of `length` vectors, whose projection is included."""
    return CROSS_ATTENTION[config.kind](config, target, length, dim, heads)


def encoder(config: ModelConfig, lengths: tuple[int, ...]) -> Cost:
    """Cost of a whole encoder whose layers have these input lengths."""
    total: Cost = Counter()
    for layer, length in zip(config.encoder, lengths, strict=True):
        total += self_attention(layer.attention, length, config.dim, config.heads)
        total += pooling(layer.pool, length, config.dim) if layer.pool else Counter()
        total += feed_forward(length, config.dim, config.feed_forward)
    return total


def decoder(config: ModelConfig, target: int, memory: int) -> Cost:
    """Cost of a whole decoder over a memory, without the output head; a causal mask saves nothing."""
    layer = _dense(target, target, config.dim, config.heads)
    layer += cross_attention(config.decoder.cross_attention, target, memory, config.dim, config.heads)
    layer += feed_forward(target, config.dim, config.feed_forward)
    return sum([layer] * config.decoder.layers, start=Counter())


def _cost(maps: int, products: int, keys_values: int, weights: int, activations: int) -> Cost:
    return Counter(maps=maps, products=products, keys_values=keys_values, weights=weights, activations=activations)


def _dense(length: int, seen: int, dim: int, heads: int) -> Cost:
    """Self-attention in which every token sees `seen` tokens."""
    maps, products = linear(length, dim, 4 * dim), attend(length, seen, dim)
    return _cost(maps, products, 2 * length * dim, heads * length * seen, 3 * length * dim)


def _vanilla(_: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    return _dense(length, length, dim, heads)


def _blockwise(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    assert isinstance(settings, BlockwiseAttentionConfig)
    block = min(settings.block, length)
    rest = length % block  # tokens of a shorter last block
    return _dense(length - rest, block, dim, heads) + _dense(rest, rest, dim, heads)


def _permuted_blocks(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    assert isinstance(settings, PermutedBlocksAttentionConfig)
    return _block_sparse(settings.block, 1, length, dim, heads)


def _bigbird(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Queries of the global blocks see all keys besides."""
    assert isinstance(settings, BigbirdAttentionConfig)
    visible = 3 + settings.global_blocks + settings.random_blocks
    cost = _block_sparse(settings.block, visible, length, dim, heads)
    filled = -(-length // settings.block) * settings.block
    queries = min(settings.global_blocks * settings.block, filled)
    return cost + Counter(products=attend(queries, filled, dim), weights=heads * queries * filled)


def _block_sparse(block: int, visible: int, length: int, dim: int, heads: int) -> Cost:
    """Each block sees at most `visible` blocks; linear maps are not filled up, blocks are."""
    blocks = -(-length // block)
    filled, seen = blocks * block, min(visible, blocks) * block
    maps, products = linear(length, dim, 4 * dim), attend(filled, seen, dim)
    return _cost(maps, products, 2 * length * dim, heads * filled * seen, 3 * length * dim)


def _sliding_window(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Chunks of half a window see themselves and their neighbours; linear maps are not filled up, chunks are.

    The first token's own projections act on its query and on what each of its heads mixes, twice dim by dim.
    """
    assert isinstance(settings, SlidingWindowAttentionConfig)
    reach = settings.window // 2
    whole = length <= 3 * reach
    chunk, seen = (length, length) if whole else (reach, 3 * reach)
    filled = -(-length // chunk) * chunk
    maps, products = linear(length, dim, 4 * dim), attend(filled, seen + settings.global_first, dim)
    if settings.global_first:
        maps += linear(1, dim, dim)
        products += 2 * linear(1, dim, dim) + attend(heads, length, dim)
    return _cost(maps, products, 2 * length * dim, heads * filled * seen, 3 * length * dim)


def _efficient(_: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Templates of the document, and every query's mixture of them: head_dim takes the place of the keys."""
    maps, products = linear(length, dim, 4 * dim), attend(length, dim // heads, dim)
    return _cost(maps, products, 2 * length * dim, dim * dim // heads, 3 * length * dim)


def _linear(_: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    return _kernel(dim // heads, length, dim, heads)


def _performer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Queries and keys are projected to their features first."""
    assert isinstance(settings, PerformerAttentionConfig)
    cost = _kernel(settings.features, length, dim, heads)
    return cost + Counter(products=2 * linear(length, dim, settings.features))


def _kernel(features: int, length: int, dim: int, heads: int) -> Cost:
    """Features take the place of the keys; each query is also multiplied by the sum of those of the keys."""
    maps, products = linear(length, dim, 4 * dim), attend(length, features, dim) + heads * linear(length, features, 1)
    mapped = heads * length * features
    return _cost(maps, products, length * dim + mapped, features * dim, 2 * length * dim + mapped)


def _synthesizer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Values are mixed as in full attention; scores that are no product of two factors cost nothing."""
    assert isinstance(settings, SynthesizerAttentionConfig)
    maps, mixing = linear(length, dim, 2 * dim), linear(length, length, dim)
    if settings.scores == "dense":
        maps, scores = maps + linear(length, dim, dim), linear(length, dim, length)
    elif settings.scores == "factorized_dense":
        columns = math.isqrt(settings.length - 1) + 1
        maps += linear(length, dim, dim)
        scores = linear(length, dim, columns) + linear(length, dim, -(-settings.length // columns))
    else:
        scores = heads * linear(length, settings.rank, length) * (settings.scores == "factorized_random")
    return _cost(maps, mixing + scores, length * dim, heads * length * length, 2 * length * dim)


def _v_mean(_: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    del heads
    maps = linear(length, dim, dim) + linear(1, dim, dim)
    return _cost(maps, 0, length * dim, 0, (length + 1) * dim)


def _lsh(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Heads that hash see two chunks in each round, local ones three; every round turns the queries."""
    assert isinstance(settings, LshAttentionConfig)
    bucket, local = settings.bucket, settings.local_heads
    filled = -(-length // bucket) * bucket
    directions = min(-(-length // (2 * bucket)), 512)
    hashing = settings.hashes * (heads - local)
    chunks = 2 * hashing + 3 * local
    products = attend(filled, bucket * chunks, dim // heads) + hashing * linear(filled, dim // heads, directions)
    return _cost(linear(filled, dim, 3 * dim), products, 2 * length * dim, filled * bucket * chunks, 2 * length * dim)


def _full(_: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    maps = 2 * linear(target, dim, dim) + linear(length, dim, 2 * dim)
    return _cost(maps, attend(target, length, dim), 2 * length * dim, heads * target * length, 3 * target * dim)


def _hepos(settings: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    """Each head projects and sees a stride of the memory, filled up to a whole one."""
    assert isinstance(settings, HeposCrossAttentionConfig)
    return _full(settings, target, -(-length // settings.stride), dim, heads)


_SELF_ATTENTION: Mapping[str, Callable[[AttentionConfig, int, int, int], Cost]] = {
    "vanilla": _vanilla,
    "blockwise": _blockwise,
    "sliding_window": _sliding_window,
    "permuted_blocks": _permuted_blocks,
    "bigbird": _bigbird,
    "efficient": _efficient,
    "linear": _linear,
    "performer": _performer,
    "synthesizer": _synthesizer,
    "v_mean": _v_mean,
    "lsh": _lsh,
}
CROSS_ATTENTION: Mapping[str, Callable[[CrossAttentionConfig, int, int, int, int], Cost]] = {
    "full": _full,
    "hepos": _hepos,
}
"""Cross-attentions whose cost does not depend on what a document says."""
_POOLERS = {"halving", "hard", "iterative", "funnel", "segments"}
_SCORERS = {"linear", "strided", "random", "fixed"}
"""Scorers and boundaries; all but the linear one are without a matrix product."""
