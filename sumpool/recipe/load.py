"""Load recipes, change settings by their paths, and dump recipes; all problems of a file are reported at once."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from sumpool.errors import RecipeError
from sumpool.recipe.schema import DEFAULT, BaseRecipe, Recipe
from sumpool.recipe.yaml_text import MAX_CHARACTERS, Inline, parse, write
from sumpool.settings import Settings

Section = TypeVar("Section", bound=Settings)

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\.\d+|\[\d+\])*")

_MAX_LISTED = 20
"""Problems listed one by one; a longer list is usually the result of one mistake."""


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Load a recipe of a task that reads documents.

    Args:
        path: A YAML file, or a run folder with `recipe.yaml`.
        overrides: Settings to change, such as `train.steps=100` or `model.encoder[0].attention.block=128`.

    Raises:
        RecipeError: If the file cannot be read or any setting is invalid; lists all problems.
    """
    path = path / "recipe.yaml" if path.is_dir() else path
    return make_recipe(read_tree(path), overrides, path)


def make_recipe(tree: dict[str, Any], overrides: Sequence[str], path: Path) -> Recipe:
    """Validate a tree of settings from a path as a recipe of a task that reads documents.

    Raises:
        RecipeError: If any setting is invalid; lists all problems.
    """
    recipe = make_any_recipe(tree, overrides, path)
    if not isinstance(recipe, Recipe):
        raise RecipeError(
            f"{path}: task must be {DEFAULT}, or another one that reads documents, for this command, got {recipe.task}"
        )
    return recipe


def make_any_recipe(tree: dict[str, Any], overrides: Sequence[str], path: Path) -> BaseRecipe:
    """Validate a tree of settings from a path as a recipe of its task; the overrides change the tree in place.

    Raises:
        RecipeError: If any setting is invalid; lists all problems.
    """
    problems = override_all(tree, overrides)
    try:
        schema = recipe_schema(tree.get("task", DEFAULT))
    except ValueError as error:
        problems.append(str(error))
        schema, tree = Recipe, {**tree, "task": DEFAULT}
    recipe = validate(schema, tree, problems)
    if problems or not recipe:
        raise RecipeError(list_problems(path, problems))
    return recipe


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
    """Set the value at a path of a parsed recipe in place; missing sections are created.

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


def recipe_schema(name: object) -> type[BaseRecipe]:
    """Return the schema of the recipes of a task.

    Raises:
        ValueError: If there is no such task.
    """
    if name == DEFAULT:
        return Recipe  # which needs nothing of a training
    from sumpool.recipe.task import find_task

    return find_task(name).recipe


def validate(schema: type[Section], tree: dict[str, Any], problems: list[str]) -> Section | None:
    """Validate a tree of settings; None if one is invalid, whose message is added to the problems."""
    try:
        return schema.model_validate(tree)
    except ValidationError as error:
        from sumpool.recipe.problems import error_messages  # as nothing but errors needs it

        problems += error_messages(error, schema)
        return None


def list_problems(path: Path, problems: Sequence[str]) -> str:
    """Join all problems of a file into one error message."""
    if len(problems) == 1:
        return f"{path}: {problems[0]}"
    lines = [f"  - {problem}" for problem in problems[:_MAX_LISTED]]
    if len(problems) > _MAX_LISTED:
        lines.append(f"  - and {len(problems) - _MAX_LISTED} more")
    return "\n".join([f"{path}: {len(problems)} problems", *lines])


def read_tree(path: Path) -> dict[str, Any]:
    """Parse a YAML file whose top level is a mapping.

    Raises:
        RecipeError: If the file cannot be read or is not a mapping.
    """
    try:
        tree = parse(read_text(path))
    except ValueError as error:
        raise RecipeError(f"{path} {error}") from error
    if not isinstance(tree, dict):
        from sumpool.recipe.problems import format_value  # as nothing but errors needs it

        raise RecipeError(f"{path} must be a mapping of settings, got {format_value(tree)}")
    return tree


def read_text(path: Path) -> str:
    """Read the text of a recipe file.

    Raises:
        RecipeError: If there is no such file, or it is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(4 * MAX_CHARACTERS + 1)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        from sumpool.recipe.packaged import packaged_recipes  # as nothing but errors needs both
        from sumpool.recipe.problems import hint

        names = [neighbour.name for neighbour in path.parent.glob("*.yaml")]
        if not path.suffix:
            names += [recipe.name for recipe in packaged_recipes()]
            raise RecipeError(
                f"{path} must be a recipe file or a name that `sumpool recipes` lists, got neither"
                f"{hint(path.as_posix(), names)}"
            ) from None
        message = f"{path} must be a recipe, but there is no such file{hint(path.name, names)}"
        raise RecipeError(message) from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} must be UTF-8 text, got byte {content[error.start]:#04x}") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise RecipeError(f"{path} must be a recipe that can be read, got: {error}") from error


def load_any_recipe(path: Path, overrides: Sequence[str] = ()) -> BaseRecipe:
    """Load a recipe of any task; arguments and errors are those of `load_recipe`."""
    path = path / "recipe.yaml" if path.is_dir() else path
    return make_any_recipe(read_tree(path), overrides, path)


def dump_recipe(recipe: BaseRecipe) -> str:
    """Serialize a recipe with all its settings as YAML that loads to an equal recipe, one line per encoder layer."""
    tree = recipe.model_dump(exclude_none=True)
    if tree["task"] == DEFAULT:
        del tree["task"]
    if recipe.train.teacher is None:
        tree["train"] = {key: value for key, value in tree["train"].items() if not key.startswith("distillation_")}
    return write(_to_yaml(tree, inline=False))


def _to_yaml(value: object, *, inline: bool) -> object:
    """Convert a dumped recipe to YAML's types; entries of a list take one line each."""
    match value:
        case dict():
            entries = {key: _to_yaml(inner, inline=inline) for key, inner in value.items()}
            return Inline(entries) if inline else entries
        case tuple() | list() if any(isinstance(inner, dict) for inner in value):
            return [_to_yaml(inner, inline=True) for inner in value]
        case tuple() | list():
            return tuple(_to_yaml(inner, inline=True) for inner in value)
        case Path():
            return str(value)
    return value
