"""Table 1 of Pietruszka et al., counted: operations and bytes of every variant, encoder and decoder apart.

Two counters check each other. torch's FlopCounterMode sees every matrix product of a model that runs at its true size
with `SkipMatmul`, so that none of them is computed; the closed forms are those of `sumpool.bench.suites.formulas`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from sumpool.bench.config import ComplexityConfig
from sumpool.bench.measures.cost import ALL, Operations, count_modules
from sumpool.bench.measures.skip_matmul import SkipMatmul
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, make_table, quotient
from sumpool.bench.suites import formulas
from sumpool.bench.suites.formulas import BYTES, CROSS_ATTENTION
from sumpool.bench.suites.operation_counts import Cost
from sumpool.bench.suites.paper_claims import claim_rows, deep_pyramidions
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.core.tokens import Tokens
from sumpool.progress import Check, Progress, Report, go_on, silent
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import PARAGRAPH

_VOCABULARY = PARAGRAPH + 2
_FULL = {"kind": "full"}
_BASE = "attention vanilla"
"""The variant that savings are taken to."""


def count_complexity(
    settings: ComplexityConfig, conditions: Conditions | None = None, report: Report = silent, check: Check = go_on
) -> Result:
    """Count every attention, every pooling and cross-attention over blockwise attention, and DeepPyramidion.

    Conditions have no influence on counts.
    """
    del conditions
    models = systems(settings)
    encoders: dict[str, Row] = {}
    decoders: dict[str, Row] = {}
    for done, (name, config) in enumerate(models.items(), start=1):
        check()
        encoders[name], decoders[name] = _rows(name, config, settings)
        report(Progress("bench", done, len(models), {"counted": name}))
    claims = claim_rows(encoders, decoders, settings)
    rows = {"encoders": _saved(encoders), "decoders": _saved(decoders), "claims": claims}
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
    for kind in [kind for kind in CROSS_ATTENTION if kind != "full"]:
        models[f"cross-attention {kind}"] = _model(settings, [blockwise] * settings.layers, {"kind": kind})
    return models | deep_pyramidions(models["attention blockwise"], settings)


def _sized(family: str, kind: str, sizes: dict[str, Any]) -> dict[str, Any]:
    """Settings of a variant, with those sizes that it has."""
    fields = config_class(f"sumpool.core.{family}", kind).model_fields
    return {"kind": kind} | {name: size for name, size in sizes.items() if name in fields}


def _model(
    settings: ComplexityConfig, layers: Sequence[dict[str, Any]], cross_attention: Mapping[str, Any] = _FULL
) -> ModelConfig:
    return ModelConfig.model_validate(
        {
            **settings.model_dump(include={"dim", "heads", "feed_forward"}),
            "source_length": settings.length,
            "encoder": layers,
            "decoder": {"layers": settings.layers, "cross_attention": cross_attention},
            "output": {"kind": "tied"},
        }
    )


def _rows(name: str, config: ModelConfig, settings: ComplexityConfig) -> tuple[Row, Row]:
    """Encoder and decoder of one model, with the attention of each apart."""
    counted = _count(config, settings)
    lengths, memory, target = counted["lengths"], counted["memory"], settings.target
    encoder = _half(
        counted["self_attention"],
        counted["encoder"],
        lambda: formulas.self_attentions(config, lengths),
        lambda: formulas.encoder(config, lengths),
    )
    decoder = _half(
        counted["cross_attention"],
        counted["decoder"],
        lambda: formulas.cross_attentions(config, target, memory),
        lambda: formulas.decoder(config, target, memory),
    )
    labels = {"name": name, "lengths": lengths, "memory": memory}
    return Row({**labels, **encoder}), Row({**labels, **decoder})


def _half(
    attention: Operations, whole: Operations, attention_cost: Callable[[], Cost], whole_cost: Callable[[], Cost]
) -> dict[str, Any]:
    """Counted operations of one half of a model, and bytes by formula, where all its parts have one."""
    values: dict[str, Any] = {"products": attention["products"], "attention": attention.total(), "whole": whole.total()}
    try:
        part = attention_cost()
        values |= {"keys_values": BYTES * part["keys_values"], "weights": BYTES * part["weights"]}
        total = whole_cost()
    except KeyError:
        return values
    pairs = ((attention, part), (whole, total))
    agreed = all(counted[name] == cost[name] for counted, cost in pairs for name in ("maps", "products"))
    return values | {"activations": BYTES * total["activations"], "agreement": "yes" if agreed else "NO"}


def _count(config: ModelConfig, settings: ComplexityConfig) -> dict[str, Any]:
    """Count one pass over one document.

    Returns:
        Input `lengths` of the encoder layers, vectors in the `memory`, and operations of both halves of the model, the
        decoder without its output head, and of their attention.
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
    return {
        "lengths": tuple(lengths.values()),
        "memory": memory[0].states.size(1),
        "encoder": encoder,
        "self_attention": _within(counted, "Encoder.layers", "attention"),
        "decoder": decoder + keys_values,
        "cross_attention": _within(counted, "Decoder.layers", "cross_attention") + keys_values,
    }


def _within(counted: dict[str, Operations], parent: str, name: str) -> Operations:
    """Sum over the modules of one name in all layers."""
    paths = (f"{parent}.{layer}.{name}" for layer in range(len(counted)))
    return sum((counted[path] for path in paths if path in counted), start=Counter())


def _saved(rows: Mapping[str, Row]) -> list[Row]:
    """Rows with savings over vanilla attention."""
    base = rows[_BASE]
    return [
        row.also({f"{name}_saved": quotient(base[name], row[name]) for name in ("products", "whole")})
        for row in rows.values()
    ]
