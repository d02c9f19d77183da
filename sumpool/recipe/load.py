"""From a recipe file to a `Recipe` and back; everything that can be wrong in the file is said here, all at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sumpool.errors import RecipeError
from sumpool.recipe.overrides import override_all
from sumpool.recipe.problems import hint, sentences, show
from sumpool.recipe.schema import Recipe
from sumpool.recipe.yaml_text import CHARACTERS, Inline, parse, write

_LISTED = 20
"""Problems that are printed one by one; more than that come from one mistake."""


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe.

    Args:
        path: The YAML file, or a run folder that holds `recipe.yaml`.
        overrides: Settings to change, each like `train.steps=100` or `model.encoder[0].attention.block=128`.

    Raises:
        RecipeError: If the file cannot be read or any setting in it is wrong; names all problems.
    """
    path = path / "recipe.yaml" if path.is_dir() else path
    return make_recipe(read_tree(path), overrides, path)


def make_recipe(tree: dict[str, Any], overrides: Sequence[str], path: Path) -> Recipe:
    """Make a recipe of a tree of settings.

    Args:
        tree: The settings; changed in place by the overrides.
        overrides: As in `load_recipe`.
        path: Where the settings come from, for what is said of them.

    Raises:
        RecipeError: If any setting is wrong; names all problems.
    """
    problems = override_all(tree, overrides)
    try:
        recipe = Recipe.model_validate(tree)
    except ValidationError as error:
        problems += sentences(error, Recipe)
    if problems:
        raise RecipeError(report(path, problems))
    return recipe


def read_tree(path: Path) -> dict[str, Any]:
    """Read a file of settings as YAML gives it.

    Raises:
        RecipeError: If the file cannot be read or is no mapping.
    """
    try:
        tree = parse(_read(path))
    except ValueError as error:
        raise RecipeError(f"{path} {error}") from error
    if not isinstance(tree, dict):
        raise RecipeError(f"{path} must be a mapping of settings, got {show(tree)}")
    return tree


def report(path: Path, problems: Sequence[str]) -> str:
    """Say in one message everything that is wrong in a file."""
    if len(problems) == 1:
        return f"{path}: {problems[0]}"
    lines = [f"  - {problem}" for problem in problems[:_LISTED]]
    if len(problems) > _LISTED:
        lines.append(f"  - and {len(problems) - _LISTED} more")
    return "\n".join([f"{path}: {len(problems)} problems", *lines])


def dump_recipe(recipe: Recipe) -> str:
    """Write a recipe with all its settings as YAML that loads to an equal recipe; encoder layers take a line each."""
    tree = recipe.model_dump(exclude_none=True)
    return write(_plain(tree, inline=False))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(4 * CHARACTERS + 1)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        names = [found.name for found in path.parent.glob("*.yaml")]
        message = f"{path} must be a recipe, but there is no such file{hint(path.name, names)}"
        raise RecipeError(message) from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} must be UTF-8 text, got byte {content[error.start]:#04x}") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise RecipeError(f"{path} must be a recipe that can be read, got: {error}") from error


def _plain(value: object, *, inline: bool) -> object:
    """Turn a dumped recipe into what YAML can say; whatever stands in a list stands on one line."""
    match value:
        case dict():
            entries = {key: _plain(inner, inline=inline) for key, inner in value.items()}
            return Inline(entries) if inline else entries
        case tuple() | list() if any(isinstance(inner, dict) for inner in value):
            return [_plain(inner, inline=True) for inner in value]
        case tuple() | list():
            return tuple(_plain(inner, inline=True) for inner in value)
        case Path():
            return str(value)
    return value
