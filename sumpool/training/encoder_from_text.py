"""Weights of a summariser's encoder from those of a language model of the same sizes.

The embeddings are shared. The layers of the language model before its first shortening, then those inside it, become
the first layers of the encoder; the predictor of its boundaries becomes that of the pooler behind the layers before the
shortening. Projected distances, biases of attention and the layers after the shortening have no counterpart, and the
language model's attention has no biases of projections, so that these begin with 0.
"""

import re
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

_LAYER = re.compile(r"layers\.((?:inner\.)*)before\.layers\.(\d+)\.(.+)")
_BOUNDARIES = re.compile(r"layers\.((?:inner\.)*)(boundaries\..+)")
_ATTENTION = {"attention.query_key_value.": "attention.project.", "attention.merge.": "attention.out."}


def is_language_model(saved: Mapping[str, Tensor]) -> bool:
    """Return whether weights are those of a language model, by their names."""
    return any(_LAYER.fullmatch(name) for name in saved)


def as_encoder(names: Iterable[str], saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the weights of a language model to those of an encoder.

    Args:
        names: Names of the weights of the model with the encoder.
        saved: Weights of the language model by name.

    Returns:
        Weights by the names of the model, those that have a counterpart; the others keep their names.
    """
    known = set(names)
    depths = _depths(saved)
    renamed = {_renamed(name, depths): weight for name, weight in saved.items()}
    for name, weight in [*renamed.items()]:
        bias = re.sub(r"(attention\.(?:project|out))\.weight$", r"\1.bias", name)
        if bias != name and bias in known:
            renamed[bias] = torch.zeros(len(weight), dtype=weight.dtype)
    return renamed


def _depths(saved: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the number of layers before those of each level, by the prefix of the level."""
    counts: dict[str, int] = {}
    for name in saved:
        if layer := _LAYER.fullmatch(name):
            counts[layer[1]] = max(counts.get(layer[1], 0), int(layer[2]) + 1)
    depths, total = {}, 0
    level = ""
    while level in counts or f"{level}inner." in counts:
        depths[level] = total
        total += counts.get(level, 0)
        level += "inner."
    depths[level] = total
    return depths


def _renamed(name: str, depths: Mapping[str, int]) -> str:
    """Return the name of a weight in the encoder; that of the language model if it has no counterpart."""
    if layer := _LAYER.fullmatch(name):
        rest = layer[3]
        for old, new in _ATTENTION.items():
            rest = rest.replace(old, new)
        return f"encoder.layers.{depths[layer[1]] + int(layer[2])}.{rest}"
    if boundaries := _BOUNDARIES.fullmatch(name):
        pooler = depths[f"{boundaries[1]}inner."] - 1
        return f"encoder.poolers.{pooler}.{boundaries[2]}"
    return name
