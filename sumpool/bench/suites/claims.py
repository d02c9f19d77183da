"""DeepPyramidion (Pietruszka et al., section 5) against Blockwise: what the paper claims, and what we count.

"Lengths 8k, 8k, 2k, 512, 512, 512 after each successive layer" can be read as what leaves each layer, which is what
the text and the released code say, or as what enters it, which is what "2.5 times less self-attention" needs.
"""

from collections.abc import Callable

from sumpool.bench.config import ComplexityConfig
from sumpool.bench.suites.complexity_rows import Claim, ComplexityRow
from sumpool.bench.suites.formulas import attend
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig

LEAVING, ENTERING = "DeepPyramidion, leaving", "DeepPyramidion, entering"
FEWEST_LAYERS = 5


def deep_pyramidions(blockwise: ModelConfig, settings: ComplexityConfig) -> dict[str, ModelConfig]:
    """Give a blockwise model the lengths of DeepPyramidion, n, n, n / 4, k, k, k for six layers, in both readings.

    More layers have more of the full length; none where there are fewer than FEWEST_LAYERS.
    """
    if settings.layers < FEWEST_LAYERS:
        return {}
    full = (settings.length,) * (settings.layers - 4)
    middle = max(settings.length // 4, settings.keep)
    lengths = (*full, middle, *(settings.keep,) * 3)
    return {
        LEAVING: _pool(blockwise, (settings.length, *lengths)),
        ENTERING: _pool(blockwise, (*lengths, settings.keep)),
    }


def _pool(blockwise: ModelConfig, lengths: tuple[int, ...]) -> ModelConfig:
    """Pool wherever lengths fall: (what enters the first layer, what leaves it, what leaves the second ...)."""
    layers = tuple(
        EncoderLayerConfig(attention=layer.attention, pool=HalvingPoolerConfig(keep=left) if left < entered else None)
        for layer, entered, left in zip(blockwise.encoder, lengths, lengths[1:], strict=False)
    )
    return blockwise.model_copy(update={"encoder": layers})


def compare(rows: dict[str, ComplexityRow], settings: ComplexityConfig) -> tuple[Claim, ...]:
    """Set what was counted beside the claims; nothing where DeepPyramidion was not counted."""
    if LEAVING not in rows:
        return ()
    base, leaving, entering = rows["attention blockwise"], rows[LEAVING], rows[ENTERING]

    def products(row: ComplexityRow, target: int) -> float:
        """Products of a decoder layer whose causal mask saves half of its self-attention."""
        seen = attend(target, target, settings.dim) / 2 + attend(target, row.memory, settings.dim)
        return settings.layers * seen

    measures: dict[str, tuple[float | None, Callable[[ComplexityRow], float]]] = {
        "self-attention, products": (2.5, lambda row: row.encoder.attention.products),
        "self-attention": (None, lambda row: row.encoder.attention.total),
        "encoder": (None, lambda row: row.encoder.whole.total),
        "cross-attention, products": (16.0, lambda row: row.decoder.attention.products),
        "cross-attention": (None, lambda row: row.decoder.attention.total),
        f"decoder, products, {settings.target} tokens": (13.0, lambda row: products(row, settings.target)),
        f"decoder, products, {settings.target // 2} tokens": (13.0, lambda row: products(row, settings.target // 2)),
        "decoder": (13.0, lambda row: row.decoder.whole.total),
    }
    return tuple(
        Claim(what, published, of(base) / of(leaving), of(base) / of(entering))
        for what, (published, of) in measures.items()
    )
