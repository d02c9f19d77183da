"""Recipes of tiny models that together hold every variant of every family.

The settings of a variant are those of its recipe in `recipes/variants`, so that a new variant needs nothing here. Most
of the time of a process is spent on other things: four layers, three of them with a pooler, need few processes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sumpool.recipe.load import read_tree
from sumpool.settings import kinds
from tests.processes.installed import ROOT

Tree = dict[str, Any]

POOLED = 3
"""Layers with a pooler; one without follows them."""
MODEL = {"dim": 16, "heads": 4, "feed_forward": 32, "source_length": 512, "target_length": 16}
"""The source is as long as in the recipes of the variants, some of which depend on it."""
FAMILIES = {name: name for name in ("attention", "boundaries", "cross_attention", "selection", "output")}
FAMILIES |= {"pool": "pooling", "scorer": "scoring", "encoder": "sentence_encoding"}
"""Families of variants by the names of their settings."""
SETTINGS: Tree = {
    "train": {"batch_tokens": 1024, "validate_documents": 1, "rouge_documents": 0},
    "select": {"trees": 2},
    "summarize": {"beams": 1},
    "evaluate": {"resamples": 100},
    "bench": {"lengths": [64], "workloads": ["encode"], "baselines": [], "repeats": 1},
}


def variants(*families: str) -> list[str]:
    """List the variants of families, each as FAMILY/KIND."""
    return [f"{family}/{kind}" for family in families for kind in kinds(f"sumpool.core.{family}")]


def combinations() -> dict[str, Tree]:
    """Combine the variants into as few models as hold all of them.

    Returns:
        The recipe of each without `name` and `data`, by the variants that it is made of, joined by "+".
    """
    attentions = variants("attention")
    poolers = variants("pooling", "scoring", "boundaries")
    decoders = _decoders()
    outputs = variants("output")
    layers = POOLED + 1
    count = max(-(-len(attentions) // layers), -(-len(poolers) // POOLED), len(decoders), len(outputs))
    return dict(
        _combine(
            [attentions[slot % len(attentions)] for slot in range(first, layers * count, count)],
            [poolers[slot % len(poolers)] for slot in range(first, POOLED * count, count)],
            decoders[first % len(decoders)],
            outputs[first % len(outputs)],
        )
        for first in range(count)
    )


def _decoders() -> list[str]:
    """List the variants of decoders whose recipes name one that the recipes after them do not."""
    chosen: list[str] = []
    seen: set[str] = set()
    for variant in reversed(variants("cross_attention", "selection", "sentence_encoding")):
        named = set(_variants_in({"encoder": [], "decoder": _recipe(variant)["model"]["decoder"]}))
        if not named <= seen:
            chosen.insert(0, variant)
            seen |= named
    return chosen


def _combine(attentions: list[str], poolers: list[str], decoder: str, output: str) -> tuple[str, Tree]:
    encoder = [_attention(attention) for attention in attentions]
    for depth, pooler in enumerate(poolers):
        encoder[depth]["pool"] = pool = _recipe(pooler)["model"]["encoder"][0]["pool"]
        if "keep" in pool:
            pool["keep"] //= 4**depth  # fewer than in the layer before, as it would change nothing otherwise
        if pooler == "scoring/attention_mass":  # reads the weights of few attentions
            encoder.append({"attention": encoder[depth]["attention"]})
            encoder[depth] |= _attention(pooler)
    model = MODEL | {
        "encoder": encoder,
        "decoder": _recipe(decoder)["model"]["decoder"] | {"layers": 1},
        "output": _recipe(output)["model"]["output"],
    }
    weights: Tree = {}
    for variant in (*poolers, decoder):
        weights |= _recipe(variant)["train"].get("loss_weights", {})
    settings = SETTINGS | {"model": model, "train": SETTINGS["train"] | {"loss_weights": weights}}
    return "+".join(dict.fromkeys(_variants_in(model))), settings


def _attention(variant: str) -> Tree:
    return {"attention": _recipe(variant)["model"]["encoder"][0]["attention"]}


def _recipe(variant: str) -> Tree:
    return read_tree(ROOT / f"recipes/variants/{variant}.yaml")


def _variants_in(part: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - a tree of lists and mappings
    """List the variants that a part of a recipe names, by the names of their settings."""
    if isinstance(part, list):
        for entry in part:
            yield from _variants_in(entry)
    elif isinstance(part, Mapping):
        if "kind" in part and name in FAMILIES:
            yield f"{FAMILIES[name]}/{part['kind']}"
        for key, inner in part.items():
            yield from _variants_in(inner, key)
