"""Changes of single settings by their paths: `--set a.b=c` on the command line, and rows of a sweep."""

import re
from collections.abc import Iterable
from typing import Any

from sumpool.recipe.yaml_text import parse

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\.\d+|\[\d+\])*")


def override_all(tree: dict[str, Any], assignments: Iterable[str]) -> list[str]:
    """Apply `override` for each assignment and return the messages of those that fail."""
    problems = []
    for assignment in assignments:
        try:
            override(tree, assignment)
        except ValueError as error:
            problems.append(str(error))
    return problems


def override(tree: dict[str, Any], assignment: str) -> None:
    """Change one setting of a parsed recipe in place.

    Missing sections are created; the recipe's schema decides whether the setting exists.

    Args:
        tree: The parsed recipe.
        assignment: `train.steps=100`, `model.encoder[0].attention.block=128` or `model.encoder.0.pool=null`; the
            value is YAML, such as `{kind: tied}` or `[1, 2]`.

    Raises:
        ValueError: If the assignment cannot be parsed, or its path leads through a value without entries.
    """
    path, equals, text = assignment.partition("=")
    if not equals or not _PATH.fullmatch(path.strip()):
        raise ValueError(f"--set must look like section.setting=value, got {assignment!r}")
    try:
        assign(tree, path, parse(text))
    except ValueError as error:
        raise ValueError(f"--set {path}: {error}") from error


def assign(tree: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a path of a parsed recipe in place.

    Args:
        tree: The parsed recipe.
        path: Path of the setting, such as `model.encoder[0].pool`; missing sections are created.
        value: The new value.

    Raises:
        ValueError: If the path cannot be parsed, or leads through a value without entries.
    """
    if not _PATH.fullmatch(path.strip()):
        raise ValueError(f"a path must look like section.setting, got {path!r}")
    *steps, last = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
    container: Any = tree
    prefix = ""
    for step, following in zip(steps, [*steps, last][1:], strict=True):
        _require_entry(container, step, prefix)
        if isinstance(container, dict) and container.get(step) is None:
            container[step] = {}
        container = container[step]
        prefix = f"{prefix}[{step}]" if isinstance(step, int) else f"{prefix}.{step}".lstrip(".")
        if isinstance(following, int) and container == {}:
            raise ValueError(f"{prefix} must be written out in the recipe before one entry can change")
    _require_entry(container, last, prefix)
    container[last] = value


def _require_entry(container: object, step: str | int, prefix: str) -> None:
    if isinstance(step, int):
        if not isinstance(container, list):
            raise ValueError(f"{prefix} must be a list to have an entry {step}, got {container!r}")
        if step >= len(container):
            raise ValueError(f"{prefix} must have an entry {step}, got {len(container)} counted from 0")
    elif not isinstance(container, dict):
        raise ValueError(f"{prefix} must be a section to have a setting {step}, got {container!r}")
