"""DeepPyramidion (Pietruszka et al., section 5) against Blockwise: the paper's claims, and what is counted.

"Lengths 8k, 8k, 2k, 512, 512, 512 after each successive layer" can be read as output lengths of the layers, which is
what the text and the released code say, or as input lengths, which is what "2.5 times less self-attention" needs.
"""

from collections.abc import Mapping

from sumpool.bench.config import ComplexityConfig
from sumpool.bench.results.table import Row
from sumpool.bench.suites.operation_counts import attend
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig

OUTPUT, INPUT = "DeepPyramidion (output)", "DeepPyramidion (input)"
"""The same lengths as output lengths of the layers, and as input lengths."""
FEWEST_LAYERS = 5


def deep_pyramidions(blockwise: ModelConfig, settings: ComplexityConfig) -> dict[str, ModelConfig]:
    """Give a blockwise model the lengths of DeepPyramidion, n, n, n / 4, k, k, k for six layers, in both readings.

    More layers have more of the full length; none where there are fewer than FEWEST_LAYERS.
    """
    if settings.layers < FEWEST_LAYERS:
        return {}
    full = (settings.length,) * (settings.layers - 4)
    lengths = (*full, max(settings.length // 4, settings.keep), *(settings.keep,) * 3)
    return {OUTPUT: _pool(blockwise, (settings.length, *lengths)), INPUT: _pool(blockwise, (*lengths, settings.keep))}


def _pool(blockwise: ModelConfig, lengths: tuple[int, ...]) -> ModelConfig:
    """Pool wherever lengths fall: (input of the first layer, its output, output of the second ...)."""
    layers = tuple(
        EncoderLayerConfig(attention=layer.attention, pool=HalvingPoolerConfig(keep=after) if after < before else None)
        for layer, before, after in zip(blockwise.encoder, lengths, lengths[1:], strict=False)
    )
    return blockwise.model_copy(update={"encoder": layers})


def claim_rows(encoders: Mapping[str, Row], decoders: Mapping[str, Row], settings: ComplexityConfig) -> list[Row]:
    """Ratios of Blockwise to DeepPyramidion beside the claims; none where DeepPyramidion was not counted."""
    if OUTPUT not in encoders:
        return []

    def costs(name: str) -> dict[str, float]:
        inner, outer = encoders[name], decoders[name]
        layers = {  # causal masks save half of the self-attention
            target: attend(target, target, settings.dim) / 2 + attend(target, outer["memory"], settings.dim)
            for target in (settings.target, settings.target // 2)
        }
        return {
            "self-attention, products": inner["products"],
            "self-attention": inner["attention"],
            "encoder": inner["whole"],
            "cross-attention, products": outer["products"],
            "cross-attention": outer["attention"],
            **{f"decoder, products, {target} tokens": products for target, products in layers.items()},
            "decoder": outer["whole"],
        }

    base, output, entered = costs("attention blockwise"), costs(OUTPUT), costs(INPUT)
    published = dict(zip(base, (2.5, None, None, 16.0, None, 13.0, 13.0, 13.0), strict=True))
    return [
        Row({"what": what, "published": published[what], "output": cost / output[what], "input": cost / entered[what]})
        for what, cost in base.items()
    ]
