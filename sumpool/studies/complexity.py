"""Table 1 of Pietruszka et al., counted: operations of every variant, encoder and decoder apart.

torch's FlopCounterMode sees every matrix product of a model that runs at its true size with `SkipMatmul`, so that none
of them is computed. Operations are two for a multiplication and an addition; Table 1 gives the products alone, without
the two and without the linear maps.

DeepPyramidion (section 5) is compared with Blockwise, beside the paper's claims. "Lengths 8k, 8k, 2k, 512, 512, 512
after each successive layer" can be read as output lengths of the layers, which is what the text and the released code
say, or as input lengths, which is what "2.5 times less self-attention" needs.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from sumpool.bench.measures import ALL, Operations, SkipMatmul, count_modules
from sumpool.bench.results import Result, Row, quotient
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import PARAGRAPH
from sumpool.studies.config import ComplexityConfig
from sumpool.studies.study import Steps, make_table

_VOCABULARY = PARAGRAPH + 2
_BASE = "attention vanilla"
"""The variant that savings are taken to."""
OUTPUT, INPUT = "DeepPyramidion (output)", "DeepPyramidion (input)"
"""The same lengths as output lengths of the layers, and as input lengths."""
FEWEST_LAYERS = 5


def count_complexity(settings: ComplexityConfig, conditions: Conditions, steps: Steps) -> Result:
    """Count every attention, every pooling and cross-attention over blockwise attention, and DeepPyramidion.

    Conditions have no influence on counts.
    """
    del conditions
    models = systems(settings)
    encoders: dict[str, Row] = {}
    decoders: dict[str, Row] = {}
    steps.total = len(models)
    for name, config in models.items():
        steps(counted=name)
        encoders[name], decoders[name] = _rows(name, config, settings)
    claims = claim_rows(encoders, decoders, settings)
    saved = [
        [
            row.also({f"{name}_saved": quotient(counted[_BASE][name], row[name]) for name in ("products", "whole")})
            for row in counted.values()
        ]
        for counted in (encoders, decoders)
    ]
    rows = {"encoders": saved[0], "decoders": saved[1], "claims": claims}
    return Result(rows, [make_table(name, lines) for name, lines in rows.items() if lines])


def systems(settings: ComplexityConfig) -> dict[str, ModelConfig]:
    """Build a model for every variant.

    Each attention without pooling, each pooling after the last blockwise layer, each cross-attention over blockwise
    layers but the full one, which all others have, and those whose cost depends on the document.
    """
    window = -(-settings.length // settings.keep)
    local: dict[str, Any] = {
        "block": settings.block,
        "window": 2 * settings.block,
        "length": settings.length,
        "local_heads": min(2, settings.heads - 1),
    }
    kept: dict[str, Any] = {
        "keep": settings.keep,
        "window": window,
        "stride": window,
        "boundaries": {"kind": "fixed", "size": window},
    }
    models = {
        f"attention {kind}": _model(settings, [{"attention": _sized("attention", kind, local)}] * settings.layers)
        for kind in sorted(kinds("sumpool.core.attention"), key=lambda kind: kind != "vanilla")
    }
    blockwise = {"attention": _sized("attention", "blockwise", local)}
    for kind in kinds("sumpool.core.pooling"):
        last = blockwise | {"pool": _sized("pooling", kind, kept)}
        models[f"pooling {kind}"] = _model(settings, [*[blockwise] * (settings.layers - 1), last])
    # the one beside the full one whose operations do not depend on what a document says
    models["cross-attention hepos"] = _model(settings, [blockwise] * settings.layers, "hepos")
    return models | deep_pyramidions(models["attention blockwise"], settings)


def _sized(family: str, kind: str, sizes: dict[str, Any]) -> dict[str, Any]:
    """Settings of a variant, with those sizes that it has."""
    fields = config_class(f"sumpool.core.{family}", kind).model_fields
    return {"kind": kind} | {name: size for name, size in sizes.items() if name in fields}


def _model(settings: ComplexityConfig, layers: Sequence[dict[str, Any]], cross_attention: str = "full") -> ModelConfig:
    return ModelConfig.model_validate(
        {
            **settings.model_dump(include={"dim", "heads", "feed_forward"}),
            "source_length": settings.length,
            "encoder": layers,
            "decoder": {"layers": settings.layers, "cross_attention": {"kind": cross_attention}},
            "output": {"kind": "tied"},
        }
    )


def _rows(name: str, config: ModelConfig, settings: ComplexityConfig) -> tuple[Row, Row]:
    """Count one pass over one document: encoder and decoder, without its output head, with the attention of each apart.

    Rows have input `lengths` of the encoder layers, and vectors in the `memory`.
    """
    conditions = Conditions(_VOCABULARY, torch.device("cpu"), torch.float32)
    model = Subject(config, conditions).model.eval()
    documents = Documents.random(1, settings.length, settings.target, conditions)
    lengths = dict.fromkeys(model.encoder.layers, 0)

    def note(layer: nn.Module, inputs: tuple[Tokens, ...]) -> None:
        lengths[layer] += int(inputs[0].mask.sum())  # a layer may be given the document chunk by chunk

    for layer in model.encoder.layers:
        layer.register_forward_pre_hook(note)
    memory: list[Tokens] = []

    def work() -> None:
        memory.append(model.encode(documents.ids, documents.mask, documents.sentences).tokens)
        model.decoder(documents.target, model.decoder.precompute(memory[0]))

    with torch.inference_mode(), SkipMatmul():
        counted = count_modules(work)
    encoder, decoder = counted["Encoder"], counted["Decoder"]
    keys_values = counted[ALL] - encoder - decoder  # of the memory, before the decoder is called
    self_attention, cross_attention = (
        sum((part for path, part in counted.items() if re.fullmatch(layers, path)), start=Operations())
        for layers in (r"Encoder\.layers\.\d+\.attention", r"Decoder\.layers\.\d+\.cross_attention")
    )
    cross_attention += keys_values
    labels = {"name": name, "lengths": tuple(lengths.values()), "memory": memory[0].states.size(1)}
    of_encoder, of_decoder = (
        Row({**labels, "products": attention["products"], "attention": attention.total(), "whole": whole.total()})
        for attention, whole in ((self_attention, encoder), (cross_attention, decoder + keys_values))
    )
    return of_encoder, of_decoder


def deep_pyramidions(blockwise: ModelConfig, settings: ComplexityConfig) -> dict[str, ModelConfig]:
    """Give a blockwise model the lengths of DeepPyramidion, n, n, n / 4, k, k, k for six layers, in both readings.

    More layers have more of the full length; none where there are fewer than FEWEST_LAYERS.
    """
    if settings.layers < FEWEST_LAYERS:
        return {}
    full = (settings.length,) * (settings.layers - 4)
    lengths = (*full, max(settings.length // 4, settings.keep), *(settings.keep,) * 3)
    deep = {}
    for name, read in ((OUTPUT, (settings.length, *lengths)), (INPUT, (*lengths, settings.keep))):
        pools = [HalvingPoolerConfig(keep=after) if after < before else None for before, after in pairwise(read)]
        layers = zip(blockwise.encoder, pools, strict=True)
        encoder = tuple(EncoderLayerConfig(attention=layer.attention, pool=pool) for layer, pool in layers)
        deep[name] = blockwise.model_copy(update={"encoder": encoder})
    return deep


def claim_rows(encoders: Mapping[str, Row], decoders: Mapping[str, Row], settings: ComplexityConfig) -> list[Row]:
    """Ratios of Blockwise to DeepPyramidion beside the claims; none where DeepPyramidion was not counted."""
    if OUTPUT not in encoders:
        return []

    def costs(name: str) -> dict[str, float]:
        inner, outer = encoders[name], decoders[name]
        layers = {  # causal masks save half of the self-attention
            target: 4 * target * (target / 2 + outer["memory"]) * settings.dim
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
