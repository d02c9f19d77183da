"""Recipes of tiny models that together hold every variant of every family.

The settings of a variant are those of its recipe in `recipes/variants`, so that a new variant needs nothing here. Most
of the time of a process is imports: three layers with an attention and a pooler each need a third of the processes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sumpool.recipe.load import read_tree
from sumpool.settings import kinds
from tests.processes.installed import ROOT

Tree = dict[str, Any]

LAYERS = 3
MODEL = {"dim": 16, "heads": 4, "feed_forward": 32, "source_length": 512, "target_length": 16}
"""The source is as long as in the recipes of the variants, some of which depend on it."""
SETTINGS: Tree = {
    "train": {"steps": 2, "batch_tokens": 1024, "validate_documents": 1, "rouge_documents": 0},
    "select": {"boosting": {"trees": 2}, "agreement_documents": 0},
    "summarize": {"beams": 1},
    "evaluate": {"resamples": 100},
    "bench": {"lengths": [64], "baselines": [], "generate": 2, "target": 8, "repeats": 1},
}


class Variant(NamedTuple):
    """A module of a family's package."""

    family: str
    kind: str

    def __str__(self) -> str:
        return f"{self.family}/{self.kind}"


class Combination(NamedTuple):
    """A model of several variants.

    Attributes:
        variants: Every variant that the model is made of, once.
        settings: The recipe without `name` and `data`.
    """

    variants: tuple[Variant, ...]
    settings: Tree

    def __str__(self) -> str:
        return "+".join(map(str, self.variants))


def variants(*families: str) -> list[Variant]:
    """List the variants of families by the files of their packages."""
    return [Variant(family, kind) for family in families for kind in kinds(f"sumpool.core.{family}")]


def combinations() -> list[Combination]:
    """Combine the variants into as few models as hold all of them."""
    attentions = variants("attention")
    poolers = variants("pooling", "scoring", "boundaries")
    decoders = variants("cross_attention", "selection", "sentence_encoding")
    outputs = variants("output")
    count = max(*(-(-len(parts) // LAYERS) for parts in (attentions, poolers)), len(decoders), len(outputs))
    slots = [(attentions[slot % len(attentions)], poolers[slot % len(poolers)]) for slot in range(LAYERS * count)]
    return [
        _combine(slots[first::count], decoders[first % len(decoders)], outputs[first % len(outputs)])
        for first in range(count)
    ]


def _combine(layers: list[tuple[Variant, Variant]], decoder: Variant, output: Variant) -> Combination:
    encoder = [_layer(depth, attention, pooler) for depth, (attention, pooler) in enumerate(layers)]
    model = MODEL | {
        "encoder": encoder,
        "decoder": _recipe(decoder)["model"]["decoder"] | {"layers": 1},
        "output": _recipe(output)["model"]["output"],
    }
    weights: Tree = {}
    for variant in (*(pooler for _, pooler in layers), decoder):
        weights |= _recipe(variant)["train"].get("loss_weights", {})
    settings = SETTINGS | {"model": model, "train": SETTINGS["train"] | {"loss_weights": weights}}
    return Combination(tuple(dict.fromkeys(_variants_in(model))), settings)


def _layer(depth: int, attention: Variant, pooler: Variant) -> Tree:
    """Layer of an encoder; each keeps fewer vectors than the layer before, as poolers change nothing otherwise."""
    pool = _recipe(pooler)["model"]["encoder"][0]["pool"]
    if "keep" in pool:
        pool["keep"] //= 4**depth
    return {"attention": _recipe(attention)["model"]["encoder"][0]["attention"], "pool": pool}


def _recipe(variant: Variant) -> Tree:
    return read_tree(ROOT / f"recipes/variants/{variant}.yaml")


def _variants_in(model: Mapping[str, Any]) -> Iterator[Variant]:
    """List the variants that a model names, by where it names them."""
    for layer in model["encoder"]:
        yield from _kind_at("attention", layer, "attention")
        yield from _kind_at("pooling", layer, "pool")
        yield from _kind_at("scoring", layer["pool"], "scorer")
        yield from _kind_at("boundaries", layer["pool"], "boundaries")
    cross_attention = model["decoder"].get("cross_attention", {})
    yield from _kind_at("cross_attention", model["decoder"], "cross_attention")
    yield from _kind_at("selection", cross_attention, "selection")
    yield from _kind_at("sentence_encoding", cross_attention.get("selection", {}), "encoder")
    yield from _kind_at("output", model, "output")


def _kind_at(family: str, place: Mapping[str, Any], name: str) -> Iterator[Variant]:
    if name in place:
        yield Variant(family, place[name]["kind"])
