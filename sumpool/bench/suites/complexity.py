"""Table 1 of Pietruszka et al., counted: operations and bytes of every variant, encoder and decoder apart.

Two counters check each other. torch's FlopCounterMode sees every product of matrices of a model that runs at its true
size with `WithoutProducts`, so that none of them is computed. The formulas of `sumpool.bench.suites.formulas` are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from sumpool.bench.config import ComplexityConfig
from sumpool.bench.measures.cost import ALL, Operations, count_modules
from sumpool.bench.measures.dry import WithoutProducts
from sumpool.bench.suites.claims import compare, deep_pyramidions
from sumpool.bench.suites.complexity_rows import ComplexityRow, FoundComplexity, Side
from sumpool.bench.suites.formulas import (
    CROSS_ATTENTION,
    NOTHING,
    Cost,
    cross_attention,
    decoder,
    encoder,
    self_attention,
)
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.core.tokens import Tokens
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent
from sumpool.special_tokens import PARAGRAPH
from sumpool.variants import config_class, kinds

_VOCABULARY = PARAGRAPH + 2
_FULL = {"kind": "full"}


def count_complexity(settings: ComplexityConfig, report: Report = silent, check: Check = go_on) -> FoundComplexity:
    """Count every attention, every pooling and cross-attention over blockwise attention, and DeepPyramidion.

    Args:
        settings: Sizes.
        report: Told of every model.
        check: Called between models; it may raise to stop.
    """
    models = systems(settings)
    rows = {}
    for done, (name, config) in enumerate(models.items(), start=1):
        check()
        rows[name] = _row(name, config, settings)
        report(Progress("bench", done, len(models), {"counted": name}))
    return FoundComplexity(tuple(rows.values()), compare(rows, settings))


def systems(settings: ComplexityConfig) -> dict[str, ModelConfig]:
    """Build a model for every variant.

    Each attention without pooling, each pooling after the last blockwise layer, each cross-attention over blockwise
    layers but the full one, which all others have, and those whose cost depends on the document.
    """
    window = -(-settings.length // settings.keep)
    local: dict[str, Any] = {
        "block": settings.block,
        "window": 2 * settings.block,
        "local_heads": min(2, settings.heads - 1),
    }
    kept: dict[str, Any] = {
        "keep": settings.keep,
        "window": window,
        "stride": window,
        "boundaries": {"kind": "fixed", "size": window},
    }
    found = {
        f"attention {kind}": _model(settings, [{"attention": _sized("attention", kind, local)}] * settings.layers)
        for kind in sorted(kinds("sumpool.core.attention"), key=lambda kind: kind != "vanilla")
    }
    blockwise = {"attention": _sized("attention", "blockwise", local)}
    for kind in kinds("sumpool.core.pooling"):
        last = blockwise | {"pool": _sized("pooling", kind, kept)}
        found[f"pooling {kind}"] = _model(settings, [*[blockwise] * (settings.layers - 1), last])
    for kind in [kind for kind in CROSS_ATTENTION if kind != "full"]:
        found[f"cross-attention {kind}"] = _model(settings, [blockwise] * settings.layers, {"kind": kind})
    return found | deep_pyramidions(found["attention blockwise"], settings)


def _sized(family: str, kind: str, sizes: dict[str, Any]) -> dict[str, Any]:
    """Settings of a variant, with those sizes that it has."""
    fields = config_class(f"sumpool.core.{family}", kind).model_fields
    return {"kind": kind} | {name: size for name, size in sizes.items() if name in fields}


def _model(
    settings: ComplexityConfig, layers: Sequence[dict[str, Any]], cross_attention: Mapping[str, Any] = _FULL
) -> ModelConfig:
    return ModelConfig.model_validate(
        {
            "dim": settings.dim,
            "heads": settings.heads,
            "feed_forward": settings.feed_forward,
            "source_length": settings.length,
            "encoder": layers,
            "decoder": {"layers": settings.layers, "cross_attention": cross_attention},
            "output": {"kind": "tied"},
        }
    )


def _row(name: str, config: ModelConfig, settings: ComplexityConfig) -> ComplexityRow:
    counted = _count(config, settings)
    attention: Cost | None = NOTHING
    for layer, length in zip(config.encoder, counted.lengths, strict=True):
        one = self_attention(layer.attention, length, config.dim, config.heads)
        attention = attention + one if attention and one else None
    cross: Cost | None = NOTHING
    for _ in range(config.decoder.layers):
        one = cross_attention(config.decoder.cross_attention, settings.target, counted.memory, config.dim, config.heads)
        cross = cross + one if cross and one else None
    whole = decoder(config, settings.target, counted.memory)
    return ComplexityRow(
        name,
        counted.lengths,
        counted.memory,
        Side(counted.self_attention, counted.encoder, attention, encoder(config, counted.lengths)),
        Side(counted.cross_attention, counted.decoder, cross, whole),
    )


@dataclass(frozen=True)
class _Counted:
    """What one pass over one document took; lengths and memory as in `ComplexityRow`."""

    lengths: tuple[int, ...]
    memory: int
    self_attention: Operations
    encoder: Operations
    cross_attention: Operations
    decoder: Operations


def _count(config: ModelConfig, settings: ComplexityConfig) -> _Counted:
    """Count one pass over one document."""
    conditions = Conditions(_VOCABULARY, torch.device("cpu"), torch.float32)
    model = Subject(config, conditions).model.eval()
    documents = Documents.random(1, settings.length, settings.target, conditions)
    given = dict.fromkeys(model.encoder.layers, 0)

    def note(layer: nn.Module, tokens: tuple[Tokens, ...]) -> None:
        given[layer] += int(tokens[0].mask.sum())  # the layer may be given the document piece by piece

    for layer in model.encoder.layers:
        layer.register_forward_pre_hook(note)
    memory: list[Tokens] = []

    def work() -> None:
        memory.append(model.encode(documents.ids, documents.mask, documents.sentences).tokens)
        model.decoder(documents.target, model.decoder.precompute(memory[0]))

    with torch.inference_mode(), WithoutProducts():
        counted = count_modules(work)
    inside, writing = counted["Encoder"], counted["Decoder"]
    remembering = counted[ALL] - inside - writing  # keys and values of the memory, before the decoder is called
    return _Counted(
        tuple(given.values()),
        memory[0].states.size(1),
        _within(counted, "Encoder.layers", "attention"),
        inside,
        _within(counted, "Decoder.layers", "cross_attention") + remembering,
        writing + remembering,
    )


def _within(counted: dict[str, Operations], parent: str, name: str) -> Operations:
    """Add up the modules of one name in all layers."""
    return sum(
        (
            found
            for path, found in counted.items()
            if path.startswith(f"{parent}.") and path.endswith(f".{name}") and path.count(".") == parent.count(".") + 2
        ),
        start=Operations(),
    )
