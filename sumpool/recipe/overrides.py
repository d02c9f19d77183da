"""One setting of a recipe, changed by its path: from the command line (`--set a.b=c`) or in a row of a sweep."""

import re
from collections.abc import Iterable
from typing import Any

from sumpool.recipe.yaml_text import parse

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\.\d+|\[\d+\])*")


def override_all(tree: dict[str, Any], assignments: Iterable[str]) -> list[str]:
    """Change values of a recipe's tree in place, each as `override` does; say what is wrong with those that fail."""
    problems = []
    for assignment in assignments:
        try:
            override(tree, assignment)
        except ValueError as error:
            problems.append(str(error))
    return problems


def override(tree: dict[str, Any], assignment: str) -> None:
    """Change one value of a recipe's tree in place.

    Sections that are not there are made; whether the setting exists is for the recipe's schema to say.

    Args:
        tree: The recipe as YAML gave it.
        assignment: `train.steps=100`, `model.encoder[0].attention.block=128` or `model.encoder.0.pool=null`; the
            value is YAML, so `{kind: tied}` and `[1, 2]` work too.

    Raises:
        ValueError: If the assignment cannot be read, or leads through a value that has nothing inside.
    """
    path, equals, text = assignment.partition("=")
    if not equals or not _PATH.fullmatch(path.strip()):
        raise ValueError(f"--set must look like section.setting=value, got {assignment!r}")
    try:
        assign(tree, path, parse(text))
    except ValueError as error:
        raise ValueError(f"--set {path}: {error}") from error


def assign(tree: dict[str, Any], path: str, value: object) -> None:
    """Change one value of a recipe's tree in place.

    Args:
        tree: The recipe as YAML gave it.
        path: Where, such as `model.encoder[0].pool`; sections that are not there are made.
        value: What stands there from now on.

    Raises:
        ValueError: If the path cannot be read, or leads through a value that has nothing inside.
    """
    if not _PATH.fullmatch(path.strip()):
        raise ValueError(f"a path must look like section.setting, got {path!r}")
    *steps, last = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
    place: Any = tree
    reached = ""
    for step, following in zip(steps, [*steps, last][1:], strict=True):
        _require_place(place, step, reached)
        if isinstance(place, dict) and place.get(step) is None:
            place[step] = {}
        place = place[step]
        reached = f"{reached}[{step}]" if isinstance(step, int) else f"{reached}.{step}".lstrip(".")
        if isinstance(following, int) and place == {}:
            raise ValueError(f"{reached} must be written out in the recipe before one entry can change")
    _require_place(place, last, reached)
    place[last] = value


def _require_place(place: object, step: str | int, reached: str) -> None:
    if isinstance(step, int):
        if not isinstance(place, list):
            raise ValueError(f"{reached} must be a list to have an entry {step}, got {place!r}")
        if step >= len(place):
            raise ValueError(f"{reached} must have an entry {step}, got {len(place)} counted from 0")
    elif not isinstance(place, dict):
        raise ValueError(f"{reached} must be a section to have a setting {step}, got {place!r}")
