"""Operations and bytes of every variant in closed form: a check of what is counted, and what a layer holds.

Operations are those of `sumpool.bench.measures.cost`: two for a multiplication and an addition, linear maps apart from
products of activations. Everything is for one document; functions of one part are for one layer. A variant without a
formula raises KeyError.

Table 1 of Pietruszka et al. gives the products alone, without the two (scores, mixing of values) and without the maps.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from sumpool.bench.suites.attention_formulas import self_attention
from sumpool.bench.suites.operation_counts import Cost, attend, cost_of, dense, linear, share_of_heads
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.hepos import HeposCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling._base import PoolerConfig, max_kept
from sumpool.core.pooling.iterative import IterativePoolerConfig

BYTES = 4
"""Bytes of a number in float32."""


def pooling(pool: PoolerConfig, length: int, dim: int) -> Cost:
    """Cost of one pooling.

    A linear scorer is a product with one direction. Mixing the sources of a vector reads every vector once, which is no
    matrix product and is not counted; but iterative pooling weights all vectors in each of its steps, or sums up all
    that it never takes out.
    """
    parts = [part.kind for name in ("scorer", "boundaries") if (part := getattr(pool, name, None))]
    for kind in (pool.kind, *parts):
        if kind not in _POOLERS | _SCORERS:
            raise KeyError(kind)
    once = linear(length, dim, 1)
    if pool.kind == "distilling":  # each vector with its neighbours
        return Counter(maps=linear(length, 3 * dim, dim), activations=3 * length * dim)
    products = 0
    if isinstance(pool, IterativePoolerConfig):
        products = once if pool.weights == "softmax" else linear(max_kept(pool.keep, length), length, dim)
    return Counter(maps=once * ("linear" in parts), products=products)


def feed_forward(length: int, dim: int, width: int) -> Cost:
    """Cost of two linear maps."""
    return Counter(maps=2 * linear(length, dim, width), activations=length * (dim + width))


def cross_attention(config: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    """Cost of a cross-attention of a summary to a memory of `length` vectors, whose projection is included."""
    return CROSS_ATTENTION[config.kind](config, target, length, dim, heads)


def self_attentions(config: ModelConfig, lengths: Sequence[int]) -> Cost:
    """Cost of the self-attentions of an encoder whose layers have these input lengths."""
    layers = zip(config.encoder, lengths, strict=True)
    costs = (self_attention(part.attention, size, config.dim, config.heads, part.kept_heads) for part, size in layers)
    return sum(costs, start=Counter())


def cross_attentions(config: ModelConfig, target: int, memory: int) -> Cost:
    """Cost of the cross-attentions of a decoder."""
    cost = cross_attention(config.decoder.cross_attention, target, memory, config.dim, config.heads)
    kept = config.decoder.kept_cross_heads
    return _over_layers(cost, config, kept, target)


def encoder(config: ModelConfig, lengths: tuple[int, ...]) -> Cost:
    """Cost of a whole encoder whose layers have these input lengths."""
    total = self_attentions(config, lengths)
    for layer, length in zip(config.encoder, lengths, strict=True):
        total += pooling(layer.pool, length, config.dim) if layer.pool else Counter()
        total += feed_forward(length, config.dim, config.feed_forward)
    return total


def decoder(config: ModelConfig, target: int, memory: int) -> Cost:
    """Cost of a whole decoder over a memory, without the output head; a causal mask saves nothing."""
    total = _over_layers(dense(target, target, config.dim, config.heads), config, config.decoder.kept_heads, target)
    total += cross_attentions(config, target, memory)
    return sum([feed_forward(target, config.dim, config.feed_forward)] * config.decoder.layers, start=total)


def _over_layers(cost: Cost, config: ModelConfig, kept: Sequence[Sequence[int]] | None, target: int) -> Cost:
    """Cost of an attention in all decoder layers, with the kept heads of each."""
    counts = [config.heads] * config.decoder.layers if kept is None else map(len, kept)
    costs = (share_of_heads(cost, count, config.heads, target * config.dim) for count in counts)
    return sum(costs, start=Counter())


def _full(_: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    maps = 2 * linear(target, dim, dim) + linear(length, dim, 2 * dim)
    return cost_of(maps, attend(target, length, dim), 2 * length * dim, heads * target * length, 3 * target * dim)


def _hepos(settings: CrossAttentionConfig, target: int, length: int, dim: int, heads: int) -> Cost:
    """Each head projects and sees a stride of the memory, filled up to a whole one."""
    assert isinstance(settings, HeposCrossAttentionConfig)
    return _full(settings, target, -(-length // settings.stride), dim, heads)


CROSS_ATTENTION: Mapping[str, Callable[[CrossAttentionConfig, int, int, int, int], Cost]] = {
    "full": _full,
    "hepos": _hepos,
}
"""Cross-attentions whose cost does not depend on what a document says."""
_POOLERS = {"halving", "hard", "iterative", "funnel", "segments", "distilling"}
_SCORERS = {"linear", "strided", "random", "fixed"}
"""Scorers and boundaries; all but the linear one are without a matrix product."""
