"""Random valid recipes, sampled from the types and bounds of the settings."""

import math
import random
from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.evaluation.config import EvaluationConfig
from sumpool.recipe.schema import Recipe
from sumpool.settings import OneOf, Settings, config_class, kinds
from sumpool.tasks.classification.model import ClassifierConfig
from sumpool.training.config import TrainConfig

_LEFT_OUT = {
    *("data", "name", "bench", "init_from", "trainable", "device", "log", "select", "steps"),
    *("teacher", "scorer", "loss_weights", "begin_with", "length", "select_by"),
}
"""Settings that `_SPECIAL` and `RecipeSampler.recipe` choose, or that need files or another device."""
_ALWAYS = ("source_length", "target_length", "feed_forward", "layers", "max_length", "resamples", "hidden", "key")
"""Settings whose defaults are those of large models."""
_SPECIAL: dict[str, Sequence[object]] = {
    "source_length": (1, 2, 3, 16, 64, 200),
    "target_length": (2, 3, 8, 20),
    "feed_forward": (1, 2, 16),
    "layers": (1, 2),
    "batch_tokens": (1, 64, 256, 4096),
    "accumulate": (1, 2, 3),
    "learning_rate": (1e-5, 1e-3, 0.1),
    "label_smoothing": (0.0, 0.1, 0.9),
    "samples": (1, 2, 4),
    "beams": (1, 2, 5),
    "min_length": (0, 1, "auto"),
    "max_length": (1, 2, 7, 1000, "auto"),
    "resamples": (100,),
    "hashes": (1, 2, 5),
    "lead_words": (1, 60),
    "temperature": (0.01, 0.5, 1.0, 100.0),
    "seed": (0, 1, 2**31 - 1),
    "hidden": (1, 16),
    "base": (1.001, 20.0, 1e6),
}
"""Values of settings whose bounds allow more than a test has time for."""
_REACH = 70, 2
"""Most that a whole number, and any other number, exceeds its lower bound by."""
_BOUNDARIES = "sumpool.core.boundaries"
_SECTIONS: dict[str, type[Settings]] = {
    "model": ModelConfig,
    "train": TrainConfig,
    "summarize": DecodingConfig,
    "evaluate": EvaluationConfig,
}


class RecipeSampler:
    """Source of valid recipes of tiny models; the same seed gives the same recipes."""

    def __init__(self, seed: int, data: dict[str, object], labelled: dict[str, object] | None = None) -> None:
        """Use the same data in all recipes, and labelled data in a fifth of them, which are of classifiers."""
        self._draw = random.Random(seed)
        self._data = data
        self._labelled = labelled

    def recipe(self) -> tuple[dict[str, Any], Recipe]:
        """Return the settings that a recipe file would have, and the recipe."""
        while True:
            tree = self._tree()
            try:
                return tree, Recipe.model_validate(tree)
            except ValidationError:  # a rule over several settings, such as heads that divide dim
                continue

    def _tree(self) -> dict[str, Any]:
        heads = self._draw.choice((1, 2, 4))
        model = self.section(_SECTIONS["model"])
        model |= {"heads": heads, "dim": heads * self._draw.choice((2, 4, 8))}
        model["encoder"] = [self.section(EncoderLayerConfig) for _ in range(self._draw.choice((1, 1, 2, 3)))]
        tree: dict[str, Any] = {"name": "sampled", "seed": self._draw.choice((0, 7, 2**31 - 1)), "model": model}
        tree["data"] = self._data
        for name in ("train", "summarize", "evaluate"):
            tree[name] = self.section(_SECTIONS[name])
        weights = {name: self._draw.choice((0, 0.1, 1, 10)) for name in loss_names(model)}
        tree["train"] |= {"device": "cpu", "steps": 2, "loss_weights": weights}
        if self._draw.random() < 0.3:
            tree["train"]["select_by"] = self._draw.choice(("rouge1", "rougeLsum"))
            tree["train"]["rouge_documents"] = 2
        tree["summarize"] |= {"device": "cpu", "length": self._draw.choice(("auto", "short", "9w", "1s", "30%"))}
        if self._draw.random() < 0.1:
            tree["summarize"]["begin_with"] = [self._draw.randrange(300)]
        if self._labelled and self._draw.random() < 0.2:
            tree |= {"task": "classification", "data": self._labelled}
            tree["train"]["loss_weights"] = dict.fromkeys(_boundary_losses(model), 0.5)
            model["classifier"] = self.section(ClassifierConfig) | {"towers": 1}
        return tree

    def section(self, config: type[Settings]) -> dict[str, Any]:
        """Sample a section: all required settings, and half of the others."""
        tree: dict[str, Any] = {}
        for name, field in config.model_fields.items():
            if name == "kind":
                tree[name] = field.default
            elif name in _LEFT_OUT or not (field.is_required() or name in _ALWAYS or self._draw.random() < 0.5):
                continue
            elif name in _SPECIAL:
                tree[name] = self._draw.choice(_SPECIAL[name])
            else:
                tree[name] = self._value(field.annotation, field.metadata)
        return tree

    def _value(self, annotation: Any, metadata: Sequence[Any]) -> object:  # noqa: ANN401 - any type
        family = next((mark for mark in metadata if isinstance(mark, OneOf)), None)
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            marks = [part for mark in inner[1:] for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
            return self._value(inner[0], [*marks, *metadata])
        if origin in (Union, UnionType):
            return self._value(self._draw.choice(inner), metadata)
        if origin is Literal:
            return self._draw.choice(inner)
        if family:
            return self.section(config_class(family.family, self._draw.choice(kinds(family.family))))
        if origin is tuple:
            count = self._draw.randint(0, 3) if inner[-1] is Ellipsis else 1
            return [self._value(part, ()) for part in inner * count if part is not Ellipsis]
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            return self.section(annotation)
        return self._scalar(annotation, metadata)

    def _scalar(self, annotation: object, metadata: Sequence[object]) -> object:
        low, high = _bounds(metadata)
        if annotation is int:
            return self._draw.choice((int(low), int(min(high, low + self._draw.randint(0, _REACH[0])))))
        if annotation is float:
            high = min(high, low + _REACH[1])
            return self._draw.choice((low, low + self._draw.random() * (high - low), high))
        if annotation is bool:
            return self._draw.random() < 0.5
        if annotation is str:
            return self._draw.choice(("", "routes of packets"))
        assert annotation is type(None), f"{annotation} must be sampled"
        return None


def _bounds(metadata: Sequence[object]) -> tuple[float, float]:
    """Least and greatest value of a number."""
    low, high = 0.0, math.inf
    for mark in metadata:
        match mark:
            case Ge(ge=bound):
                low = float(str(bound))
            case Gt(gt=bound):
                low = float(str(bound)) + 1e-3
            case Le(le=bound):
                high = float(str(bound))
            case Lt(lt=bound):
                high = float(str(bound)) - 1e-3
    return low, high


def loss_names(model: dict[str, Any]) -> list[str]:
    """Names of the auxiliary losses of a model, from its settings in a recipe file."""
    decoder = model.get("decoder") or {}
    names = ["length"] * bool(decoder.get("predict_length"))
    names += ["coverage"] * bool(model.get("output", {}).get("coverage"))
    cross = decoder.get("cross_attention") or {}
    if cross.get("kind") == "sentence" and cross.get("selection", {}).get("kind", "approximate") == "approximate":
        names.append("selection")
    return names + _boundary_losses(model)


def _boundary_losses(model: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for layer in model["encoder"]:
        pool = layer.get("pool") or {}
        kind = pool.get("boundaries", {}).get("kind")
        if pool.get("kind") == "segments" and kind in kinds(_BOUNDARIES):
            names += config_class(_BOUNDARIES, kind).losses  # type: ignore[attr-defined]
    return names
