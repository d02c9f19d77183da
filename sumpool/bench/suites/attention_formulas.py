"""Operations and bytes of every self-attention in closed form, see `sumpool.bench.suites.formulas`."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from sumpool.bench.suites.band_formulas import BAND
from sumpool.bench.suites.low_rank_formulas import LOW_RANK
from sumpool.bench.suites.operation_counts import Cost, attend, cost_of, dense, linear, share_of_heads
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention._kernel import CHUNK
from sumpool.core.attention.bigbird import BigbirdAttentionConfig
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.convolutional import ConvolutionalAttentionConfig
from sumpool.core.attention.efficient import EfficientAttentionConfig
from sumpool.core.attention.linear import LinearAttentionConfig
from sumpool.core.attention.lsh import LshAttentionConfig
from sumpool.core.attention.performer import PerformerAttentionConfig
from sumpool.core.attention.permuted_blocks import PermutedBlocksAttentionConfig
from sumpool.core.attention.routing import RoutingAttentionConfig
from sumpool.core.attention.sinkhorn import SinkhornAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.attention.sparse import SparseAttentionConfig
from sumpool.core.attention.synthesizer import SynthesizerAttentionConfig
from sumpool.core.nn.numerics import round_up


def self_attention(
    attention: AttentionConfig, length: int, dim: int, heads: int, kept: Sequence[int] | None = None
) -> Cost:
    """Cost of one self-attention, with all heads or with the kept ones only."""
    cost = _SELF_ATTENTION[attention.kind]
    if kept is None:
        return cost(attention, length, dim, heads)
    inputs = length * dim
    if isinstance(attention, LshAttentionConfig | EfficientAttentionConfig):
        local = sum(head >= heads - attention.local_heads for head in kept)
        hashed, near = (
            cost(attention.model_copy(update={"local_heads": count}), length, dim, heads) for count in (0, heads)
        )
        total = share_of_heads(hashed, len(kept) - local, heads, inputs) + share_of_heads(near, local, heads, inputs)
        return total - Counter(activations=inputs)
    return share_of_heads(cost(attention, length, dim, heads), len(kept), heads, inputs)


def _vanilla(_: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    return dense(length, length, dim, heads)


def _blockwise(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    assert isinstance(settings, BlockwiseAttentionConfig)
    block = min(settings.block, length)
    rest = length % block  # tokens of a shorter last block
    return dense(length - rest, block, dim, heads) + dense(rest, rest, dim, heads)


def _permuted_blocks(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    assert isinstance(settings, PermutedBlocksAttentionConfig)
    return _block_sparse(settings.block, 1, length, dim, heads)


def _bigbird(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Queries of the global blocks see all keys besides."""
    assert isinstance(settings, BigbirdAttentionConfig)
    visible = 3 + settings.global_blocks + settings.random_blocks
    cost = _block_sparse(settings.block, visible, length, dim, heads)
    filled = round_up(length, settings.block)
    queries = min(settings.global_blocks * settings.block, filled)
    return cost + Counter(products=attend(queries, filled, dim), weights=heads * queries * filled)


def _block_sparse(block: int, visible: int, length: int, dim: int, heads: int) -> Cost:
    """Each block sees at most `visible` blocks; linear maps are not filled up, blocks are."""
    blocks = -(-length // block)
    filled, seen = blocks * block, min(visible, blocks) * block
    maps, products = linear(length, dim, 4 * dim), attend(filled, seen, dim)
    return cost_of(maps, products, 2 * length * dim, heads * filled * seen, 3 * length * dim)


def _sparse(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """A row, or three of them, and a column of every row, or several."""
    assert isinstance(settings, SparseAttentionConfig)
    rows = -(-length // settings.stride)
    is_strided = settings.pattern == "strided"
    seen = 3 * settings.stride + rows if is_strided else settings.stride + rows * settings.columns
    filled = rows * settings.stride
    products = attend(filled, seen, dim)
    return cost_of(linear(length, dim, 4 * dim), products, 2 * length * dim, heads * filled * seen, 3 * length * dim)


def _convolutional(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Phrases attend to phrases; convolutions of heads act on the head's features only, on three parts of them."""
    assert isinstance(settings, ConvolutionalAttentionConfig)
    phrases, inputs = -(-length // settings.stride), settings.kernel * dim
    projected = length if settings.per_head else phrases
    maps = linear(projected, dim, 3 * dim) + linear(length, dim, dim)
    convolutions = linear(phrases, inputs, 4 * dim // heads if settings.per_head else 2 * dim)
    products = attend(phrases, phrases, dim) + convolutions
    activations = length * (5 * dim if settings.per_head else 2 * dim) + 2 * phrases * dim
    return cost_of(maps, products, 2 * phrases * dim, heads * phrases * phrases, activations)


def _sinkhorn(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Each block sees itself and a mixture of all blocks, for which pairs of block means are compared."""
    assert isinstance(settings, SinkhornAttentionConfig)
    blocks = -(-length // settings.block)
    filled, seen = blocks * settings.block, 2 * settings.block
    maps = linear(length, dim, 4 * dim) + linear(blocks, dim, 2 * dim)
    mixing = 2 * linear(blocks, blocks, settings.block * dim) + heads * linear(blocks, blocks, settings.block)
    products = attend(filled, seen, dim) + linear(blocks, dim, blocks) + mixing
    weights = heads * (filled * seen + blocks * blocks)
    return cost_of(maps, products, 2 * (length + filled) * dim, weights, 3 * length * dim)


def _routing(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Queries and keys are compared with all centroids; every cluster has as many tokens."""
    assert isinstance(settings, RoutingAttentionConfig)
    clusters = settings.clusters
    size = min(length, max(settings.cluster_tokens, -(-length // clusters)))
    maps, selected = linear(length, dim, 4 * dim), clusters * size
    products = 2 * linear(length, dim, clusters) + attend(selected, size, dim)
    return cost_of(maps, products, 2 * selected * dim, heads * selected * size, 3 * length * dim + selected * dim)


def _efficient(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Templates of the document, and every query's mixture of them: head_dim takes the place of the keys."""
    assert isinstance(settings, EfficientAttentionConfig)
    maps, products = linear(length, dim, 4 * dim), attend(length, dim // heads, dim)
    whole = cost_of(maps, products, 2 * length * dim, dim * dim // heads, 3 * length * dim)
    if not settings.local_heads:
        return whole
    near = BAND["sliding_window"](SlidingWindowAttentionConfig(window=settings.window), length, dim, heads)
    local, inputs = settings.local_heads, length * dim
    total = share_of_heads(whole, heads - local, heads, inputs) + share_of_heads(near, local, heads, inputs)
    return total - Counter(activations=inputs)


def _linear(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    assert isinstance(settings, LinearAttentionConfig)
    return _kernel(dim // heads, settings.causal, length, dim, heads)


def _performer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Queries and keys are projected to their features first."""
    assert isinstance(settings, PerformerAttentionConfig)
    cost = _kernel(settings.features, settings.causal, length, dim, heads)
    return cost + Counter(products=2 * linear(length, dim, settings.features))


def _kernel(features: int, causal: bool, length: int, dim: int, heads: int) -> Cost:
    """Features take the place of the keys; each query is also multiplied by the sum of those of the keys.

    Causal attention is filled up to whole chunks, which have explicit weights; its sums of keys are element-wise.
    """
    maps, mapped = linear(length, dim, 4 * dim), heads * length * features
    if causal:
        filled = round_up(length, CHUNK)
        products = attend(filled, features, dim) + linear(filled, CHUNK, heads * features + dim)
        weights = -(-length // CHUNK) * features * dim + heads * filled * CHUNK
        return cost_of(maps, products, length * dim + mapped, weights, 2 * length * dim + mapped)
    products = attend(length, features, dim) + heads * linear(length, features, 1)
    return cost_of(maps, products, length * dim + mapped, features * dim, 2 * length * dim + mapped)


def _synthesizer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Values are mixed as in full attention; scores that are no product of two factors cost nothing.

    Factors of a random matrix are filled up to the columns of the values.
    """
    assert isinstance(settings, SynthesizerAttentionConfig)
    maps, mixing = linear(length, dim, 2 * dim), linear(length, length, dim)
    if settings.scores == "dense":
        maps, scores = maps + linear(length, dim, dim), linear(length, dim, length)
    elif settings.scores == "factorized_dense":
        columns = math.isqrt(settings.length - 1) + 1
        maps += linear(length, dim, dim)
        scores = linear(length, dim, columns) + linear(length, dim, -(-settings.length // columns))
    else:
        rank = max(settings.rank, dim // heads)
        scores = heads * linear(length, rank, length) * (settings.scores == "factorized_random")
    return cost_of(maps, mixing + scores, length * dim, heads * length * length, 2 * length * dim)


def _v_mean(_: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    del heads
    maps = linear(length, dim, dim) + linear(1, dim, dim)
    return cost_of(maps, 0, length * dim, 0, (length + 1) * dim)


def _lsh(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Heads that hash see two chunks in each round, local ones three; every round turns the queries."""
    assert isinstance(settings, LshAttentionConfig)
    bucket, local = settings.bucket, settings.local_heads
    filled = -(-length // bucket) * bucket
    directions = min(-(-length // (2 * bucket)), 512)
    hashing = settings.hashes * (heads - local)
    chunks = 2 * hashing + 3 * local
    products = attend(filled, bucket * chunks, dim // heads) + hashing * linear(filled, dim // heads, directions)
    return cost_of(linear(filled, dim, 3 * dim), products, 2 * length * dim, filled * bucket * chunks, 2 * length * dim)


_SELF_ATTENTION: Mapping[str, Callable[[AttentionConfig, int, int, int], Cost]] = {
    "vanilla": _vanilla,
    "blockwise": _blockwise,
    "permuted_blocks": _permuted_blocks,
    "bigbird": _bigbird,
    "sparse": _sparse,
    "convolutional": _convolutional,
    "efficient": _efficient,
    "linear": _linear,
    "performer": _performer,
    "routing": _routing,
    "sinkhorn": _sinkhorn,
    "synthesizer": _synthesizer,
    "v_mean": _v_mean,
    "lsh": _lsh,
    **BAND,
    **LOW_RANK,
}
