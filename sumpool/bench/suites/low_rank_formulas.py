"""Operations and bytes of low-rank and kernel attentions in closed form, see `sumpool.bench.suites.formulas`."""

from collections.abc import Callable, Mapping

from sumpool.bench.suites.operation_counts import Cost, attend, cost_of, linear
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.linformer import LinformerAttentionConfig


def _linformer(settings: AttentionConfig, length: int, dim: int, heads: int) -> Cost:
    """Keys and values are projected; unreduced, values are projected and back, and the attention is full."""
    assert isinstance(settings, LinformerAttentionConfig)
    rank = settings.rank
    seen = length if settings.unreduced else rank
    products = 2 * linear(length, rank, dim) + attend(length, seen, dim)
    return cost_of(linear(length, dim, 4 * dim), products, 2 * seen * dim, heads * length * seen, 3 * length * dim)


LOW_RANK: Mapping[str, Callable[[AttentionConfig, int, int, int], Cost]] = {
    "linformer": _linformer,
}
"""Cost of one self-attention by kind."""
