"""Operations of self-attentions with a window in closed form, see `sumpool.bench.suites.formulas`."""

from collections import Counter
from collections.abc import Callable, Mapping

from sumpool.bench.suites.operation_counts import Cost, attend, cost_of, linear
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.dilated import DilatedAttentionConfig
from sumpool.core.attention.global_tokens import GlobalTokensAttentionConfig
from sumpool.core.attention.longformer import LongformerAttentionConfig
from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig


def _sliding_window(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Chunks of half a window see themselves and their neighbours; linear maps are not filled up, chunks are.

    The first token's own projections act on its query and on what each of its heads mixes, twice dim by dim.
    """
    assert isinstance(settings, SlidingWindowAttentionConfig)
    cost = _band(settings.window // 2, int(settings.global_first), length, dim, heads)
    if settings.global_first:
        products = 2 * linear(1, dim, dim) + attend(heads, length, dim)
        cost += Counter(maps=linear(1, dim, dim), products=products)
    return cost


def _dilated(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Queries, keys and values are filled up to several interleaved documents of the same length."""
    assert isinstance(settings, DilatedAttentionConfig)
    part = _band(settings.window // 2, 0, -(-length // settings.dilation), dim, heads)
    cost = Counter({name: settings.dilation * part[name] for name in ("products", "weights")})
    maps = Counter(maps=linear(length, dim, 4 * dim), keys_values=2 * length * dim, activations=3 * length * dim)
    return cost + maps


def _longformer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Copies of the first tokens stand before the document, and see it; sentences are not counted.

    Chunks of the document with global tokens only are skipped.
    """
    assert isinstance(settings, LongformerAttentionConfig)
    first = min(settings.global_tokens, length)
    reach, total = settings.window // 2, length + first
    end = -(-total // reach) if 2 * first == total else 2 * first // reach
    skipped = reach * max(0, end - -(-first // reach)) if total > 3 * reach else 0
    cost = _band(reach, first, total, dim, heads)
    cost -= Counter(products=attend(skipped, 3 * reach + first, dim), weights=heads * skipped * (3 * reach + first))
    cost["maps"] = linear(length, dim, 4 * dim)
    cost += Counter(products=attend(first, length, dim), weights=heads * first * length)
    if settings.separate and first:
        cost += Counter(maps=linear(first, dim, dim) + linear(length, dim, 2 * dim), keys_values=2 * length * dim)
    return cost


def _global_tokens(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Global tokens read keys and values, and stand before the document."""
    assert isinstance(settings, GlobalTokensAttentionConfig)
    tokens = settings.tokens
    cost = _band(settings.window // 2, tokens, length + tokens, dim, heads)
    cost["maps"] = linear(length, dim, 4 * dim)
    return cost + Counter(products=3 * linear(tokens, length, dim), weights=heads * tokens * length)


def _neighborhood(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Shifted neighbourhoods at both ends are computed besides."""
    assert isinstance(settings, NeighborhoodAttentionConfig)
    cost = _band(settings.radius, 0, length, dim, heads)
    if settings.edges == "shift":
        queries, keys = 2 * min(settings.radius, length), min(2 * settings.radius + 1, length)
        cost += Counter(products=attend(queries, keys, dim), weights=heads * queries * keys)
    return cost


def _band(reach: int, first: int, length: int, dim: int, heads: int) -> Cost:
    """Chunks of `reach` tokens see themselves, their neighbours and the first tokens; chunks are filled up."""
    chunk, seen = (length, length) if length <= 3 * reach else (reach, 3 * reach)
    filled = -(-length // chunk) * chunk
    maps, products = linear(length, dim, 4 * dim), attend(filled, seen + first, dim)
    return cost_of(maps, products, 2 * length * dim, heads * filled * (seen + first), 3 * length * dim)


BAND: Mapping[str, Callable[[AttentionConfig, int, int, int], Cost]] = {
    "sliding_window": _sliding_window,
    "dilated": _dilated,
    "longformer": _longformer,
    "global_tokens": _global_tokens,
    "neighborhood": _neighborhood,
}
"""Cost of each of these attentions."""
