"""Operations and bytes of low-rank and kernel attentions in closed form, see `sumpool.bench.suites.formulas`."""

import math
from collections.abc import Callable, Mapping

from sumpool.bench.suites.operation_counts import Cost, attend, cost_of, dense, linear
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.informer import InformerAttentionConfig
from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from sumpool.core.attention.linformer import LinformerAttentionConfig
from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.attention.skeinformer import SkeinformerAttentionConfig
from sumpool.core.attention.skyformer import SkyformerAttentionConfig


def _linformer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Keys and values are projected; unreduced, values are projected and back, and the attention is full."""
    assert isinstance(settings, LinformerAttentionConfig)
    rank = settings.rank
    seen = length if settings.unreduced else rank
    products = 2 * linear(length, rank, dim) + attend(length, seen, dim)
    return cost_of(linear(length, dim, 4 * dim), products, 2 * seen * dim, heads * length * seen, 3 * length * dim)


def _nystrom(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Three attentions with landmarks on one side or both, four products in each iteration of the inverse."""
    assert isinstance(settings, NystromAttentionConfig)
    count = min(settings.landmarks, length)
    products = 2 * attend(length, count, dim) + linear(count, count, dim)  # the last are scores only
    products += _iterations(settings.iterations, count, heads) + linear(count, count, dim)
    products += linear(length, settings.kernel, dim)
    weights = 2 * heads * length * count + _inverses(settings.iterations, count, heads)
    return cost_of(linear(length, dim, 4 * dim), products, 2 * length * dim, weights, 3 * length * dim)


def _kernelized(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Full attention to one more key where weights are not normalised, with two more columns, filled up to eights."""
    assert isinstance(settings, KernelizedAttentionConfig)
    width = dim + heads * (2 + -(dim // heads + 2) % 8)
    cost = dense(length, length + (not settings.normalize), dim, heads)
    cost["products"] = attend(length, length + (not settings.normalize), width)
    return cost


def _skyformer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Two kernels and their products with the values on either side of the landmarks, and the kernel between these."""
    assert isinstance(settings, SkyformerAttentionConfig)
    of_queries = settings.landmarks // 2
    halves = (of_queries, settings.landmarks - of_queries)
    if settings.replacement:
        count = settings.landmarks
    elif settings.landmarks_from == "both":
        count = min(settings.landmarks, 2 * length)
    else:
        count = sum(min(half, length) for half in halves)
    products = 2 * attend(length, count, dim) + 2 * linear(count, count, dim)
    products += _iterations(settings.iterations, count, heads)
    weights = 2 * heads * length * count + _inverses(settings.iterations, count, heads)
    return cost_of(linear(length, dim, 4 * dim), products, 2 * length * dim, weights, 3 * length * dim)


def _informer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """All queries see the sampled keys, as scores only, and the active ones see all keys."""
    assert isinstance(settings, InformerAttentionConfig)
    filled = max(length, settings.filled_length or 0)
    count = min(filled, max(1, math.ceil(settings.factor * math.log(filled))))
    products = linear(filled, count, dim) + attend(count, filled, dim)
    maps = linear(filled, dim, 3 * dim) + linear(length, dim, dim)
    return cost_of(maps, products, 2 * filled * dim, heads * count * filled, 3 * length * dim)


def _skeinformer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """All queries see the drawn keys, pilot queries all keys; their scores alone give the importance of keys."""
    assert isinstance(settings, SkeinformerAttentionConfig)
    count = min(settings.samples, length)
    scores, is_full = linear(length, count, dim), settings.row_normalization == "none"
    is_piloted = settings.reuse_pilot or settings.sampling == "importance"
    products = scores * (2 + is_piloted + settings.reuse_pilot) + linear(length, length, dim) * is_full
    weights = heads * length * count * (1 + is_piloted)  # those of full attention are computed again
    return cost_of(linear(length, dim, 4 * dim), products, 2 * length * dim, weights, 3 * length * dim)


def _iterations(iterations: int, size: int, heads: int) -> int:
    """Operations of an iterative inverse."""
    return iterations * 4 * heads * linear(size, size, size)


def _inverses(iterations: int, size: int, heads: int) -> int:
    """Numbers held by an iterative inverse: three factors of each iteration, and the matrix."""
    return (3 * iterations + 1) * heads * size * size


LOW_RANK: Mapping[str, Callable[[AttentionConfig, int, int, int], Cost]] = {
    "linformer": _linformer,
    "nystrom": _nystrom,
    "kernelized": _kernelized,
    "skyformer": _skyformer,
    "informer": _informer,
    "skeinformer": _skeinformer,
}
"""Cost of one self-attention by kind."""
