"""Every setting with a value of a wrong type, a negative one, 0, a huge one, and null."""

import copy
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, get_origin

from sumpool.errors import RecipeError
from sumpool.recipe.files import write
from sumpool.recipe.load import family, load_any_recipe, section
from sumpool.recipe.schema import Recipe
from sumpool.settings import Settings, config_class, kinds
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from tests.torture.c2_valid_recipes import labelled, loss_names, run_recipe, write_data, write_text
from tests.torture.figures import Measured

ID: Final = "C3"
FIGURE: Final = "every setting x (wrong type, negative, 0, huge, null): refused by its path, or usable"
NIGHT: Final = 10_000
QUICK: Final = 30
_VALUES: tuple[object, ...] = (*({"x": 1}, [[]], "some text", True, -1, -0.5, 0, 10**31, 1e300, "x" * 100_000, None),)
_SLOW = ("steps", "device", "log", "metrics", "init_from", "tokenizer")
"""Settings whose values are checked but not used: they need more time, or files."""
_BASE: dict[str, Any] = {
    "dim": 8,
    "heads": 4,
    "feed_forward": 4,
    "source_length": 20,
    "target_length": 5,
    "encoder": [{"attention": {"kind": "blockwise"}}],
    "decoder": {"layers": 1},
    "output": {"kind": "pointer", "key": 4, "preceding": 4},
}
_TEXT_MODEL: dict[str, Any] = {"dim": 8, "heads": 2, "feed_forward": 4, "layers": [1, 1, 1], "length": 16}
_TEXT_MODEL |= {"boundaries": [{"kind": "whitespace"}]}


def measure(count: int, folder: Path) -> Measured:
    """Load a recipe for every setting and value, at most `count` of them; train and summarise if it loads."""
    common: dict[str, Any] = {"name": "every", "train": {"steps": 1, "device": "cpu"}}
    base = common | {"data": write_data(folder), "model": _BASE}
    base |= {"summarize": {"device": "cpu"}, "evaluate": {"resamples": 100}}
    data = write_text(folder) | {"clean": {"language": "en"}}
    texts = common | {"task": "language_modeling", "data": data, "model": _TEXT_MODEL}
    places = [*_settings(Recipe, base, ()), *_settings(LanguageModelRecipe, texts, ())]
    cases = [(place, tree, value) for place, tree in places for value in _VALUES]
    chosen = random.Random(1).sample(cases, min(count, len(cases)))
    faults, refused = [], 0
    for place, tree, value in chosen:
        fault, is_refused = _try(place, _with(tree, place, value), folder)
        refused += is_refused
        if fault:
            faults.append(f"{_name(place)}={str(value)[:40]}: {fault[:300]}")
    text = f"{refused:,} refused, {len(chosen) - refused - len(faults):,} usable, {len(faults):,} neither"
    return Measured.by_faults(text, faults, len(chosen))


def _try(place: tuple[str | int, ...], tree: dict[str, Any], folder: Path) -> tuple[str, bool]:
    """Return what is wrong, or an empty text, and whether the recipe was refused."""
    path = folder / "every.yaml"
    path.write_text(write(tree), "utf-8")
    try:
        recipe = load_any_recipe(path)
    except RecipeError as error:
        is_named = str(error).startswith(str(path)) and _name(place[:-1]) in str(error) and str(place[-1]) in str(error)
        return ("" if is_named else f"is refused by: {error}"), True
    except Exception as error:  # a traceback is what this figure counts
        return f"{type(error).__name__}: {error}", False
    is_used = place[0] in ("model", "train", "summarize", "evaluate") and place[-1] not in _SLOW
    return (run_recipe(recipe, folder) if is_used else ""), False


def _settings(
    config: type[Settings], tree: dict[str, Any], path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the paths of all settings, each with a valid recipe that has the section of the setting."""
    for name, field in config.model_fields.items():
        place = (*path, name)
        yield place, tree
        union, inner = family(field.rebuild_annotation()), section(field.annotation)
        if union:
            place = (*place, 0) if get_origin(field.annotation) is tuple else place
            for kind in kinds(union.family):
                entry = {"kind": kind, "path": "rows.jsonl"} if name == "source" else {"kind": kind}
                task = {"task": "classification"} if kind == "labelled" else {}
                yield from _settings(config_class(union.family, kind), _with(tree | task, place, entry), place)
        elif inner and get_origin(field.annotation) is tuple:
            yield from _settings(inner, tree, (*place, 0))
        elif inner:
            classifier = {"task": "classification", "data": labelled(tree["data"])}
            tree = tree | classifier if name == "classifier" else tree
            yield from _settings(inner, _with_section(tree, place), place)


def _with_section(tree: dict[str, Any], place: tuple[str | int, ...]) -> dict[str, Any]:
    """Add an empty section unless the recipe has it."""
    container: Any = tree
    for step in place[:-1]:
        container = container[step]
    return tree if place[-1] in container else _with(tree, place, {})


def _with(tree: dict[str, Any], place: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return the recipe with another value at a path, and weights of the losses that it then has."""
    changed = copy.deepcopy(tree)
    container: Any = changed
    for step in place[:-1]:
        container = container[step]
    container[place[-1]] = value
    if place[0] == "model":
        with suppress(AttributeError, KeyError, TypeError, ValueError):  # a model of a wrong form, which is refused
            changed["train"]["loss_weights"] = dict.fromkeys(loss_names(changed["model"]), 0.5)
    return changed


def _name(place: tuple[str | int, ...]) -> str:
    """Return a path in the notation of recipes."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".")
