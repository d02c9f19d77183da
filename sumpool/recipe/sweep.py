"""Sweeps: several runs described by one YAML file, with a common budget of source tokens.

Each row is the file's recipe with some settings changed by their paths, as with `--set`. All rows share data and
budget, so that their results are comparable.
"""

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from sumpool.data.config import Split
from sumpool.errors import RecipeError
from sumpool.recipe.load import (
    assign,
    format_value,
    list_problems,
    make_any_recipe,
    override_all,
    read_tree,
    recipe_schema,
    validate,
)
from sumpool.recipe.schema import DEFAULT, BaseRecipe, Recipe
from sumpool.settings import Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")


class Sweep(Settings):
    """Settings of a sweep file."""

    sweep: str = Field(pattern=rf"^{_NAME.pattern}$")
    """Name of the sweep and of the folder of its runs."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1,), min_length=1)
    """Seeds; every row is trained once per seed."""
    source_tokens: int = Field(ge=1, le=10**15)
    """Source tokens that each run trains on, without padding; determines the number of updates."""
    split: Split = "validation"
    """Split whose documents are summarised and scored."""
    recipe: dict[str, Any]
    """Complete recipe without name, seed and train.steps."""
    rows: dict[str, dict[str, Any] | None]
    """Rows by name: settings changed in `recipe`, as values by path."""

    @model_validator(mode="after")
    def _has_different_runs(self) -> Self:
        if not self.rows:
            raise ValueError("rows must name one row at least, got {}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must be different, got {list(self.seeds)}")
        return self


@dataclass(frozen=True)
class LoadedSweep:
    """Settings of a sweep, and its rows in the order of the file; the sweep replaces their seed and train.steps."""

    settings: Sweep
    rows: tuple[Recipe, ...]


def load_recipe_or_sweep(path: Path, overrides: Sequence[str] = ()) -> BaseRecipe | LoadedSweep:
    """Load a file that is a sweep if it has the key `sweep`, or several other keys of sweeps, and a recipe otherwise.

    Args:
        path: A YAML file, or a run folder with `recipe.yaml`.
        overrides: As in `load_recipe` and `load_sweep`.

    Raises:
        RecipeError: If the file cannot be read or any setting is invalid; lists all problems.
    """
    path = path / "recipe.yaml" if path.is_dir() else path
    tree = read_tree(path)
    is_sweep = "sweep" in tree or len(tree.keys() & (Sweep.model_fields.keys() - Recipe.model_fields.keys())) > 1
    return load_sweep(path, overrides, tree) if is_sweep else make_any_recipe(tree, overrides, path)


def load_sweep(path: Path, overrides: Sequence[str] = (), tree: dict[str, Any] | None = None) -> LoadedSweep:
    """Load a sweep and the recipes of all rows.

    Args:
        path: The YAML file.
        overrides: Settings of the sweep, such as `seeds=[1]`, or of the recipes of all rows, such as `train.clip=0.5`.
        tree: Content of the file, if it has been read; changed in place.

    Raises:
        RecipeError: If the file cannot be read or any setting is invalid; lists the problems of all rows.
    """
    tree = read_tree(path) if tree is None else tree
    of_sweep = [override for override in overrides if re.split(r"\W", override)[0] in Sweep.model_fields]
    of_rows = [override for override in overrides if override not in of_sweep]
    problems = override_all(tree, of_sweep)
    sweep = validate(Sweep, tree, problems)
    if not sweep:
        raise RecipeError(list_problems(path, problems))
    rows, row_problems = _make_rows(sweep, of_rows)
    problems += row_problems or [
        f"rows.{row.name}: data must be the same in every row, got others than in {rows[0].name}"
        for row in rows
        if row.data != rows[0].data
    ]
    if problems:
        raise RecipeError(list_problems(path, problems))
    return LoadedSweep(sweep, tuple(rows))


def _make_rows(sweep: Sweep, overrides: Sequence[str]) -> tuple[list[Recipe], list[str]]:
    """Derive the rows from the file's recipe; problems of that recipe are reported once instead of for every row."""
    base = {"name": sweep.sweep, **copy.deepcopy(sweep.recipe)}
    problems = override_all(base, overrides)
    shared = _validate(base)[1]
    problems += [f"recipe: {problem}" for problem in shared]
    rows = []
    for name, changes in sweep.rows.items():
        tree = copy.deepcopy(base)
        wrong = [] if _NAME.fullmatch(name) else [f"its name must match {_NAME.pattern}, got {format_value(name)}"]
        for path, value in (changes or {}).items():
            try:
                assign(tree, path, copy.deepcopy(value))
            except ValueError as error:
                wrong.append(f"{path}: {error}")
        recipe, invalid = _validate(tree)
        wrong += [problem for problem in invalid if problem not in shared]
        problems += [f"rows.{name}: {problem}" for problem in wrong]
        if recipe:
            data = recipe.data.model_copy(update={"prepared": recipe.prepared_folder})  # of the sweep's name
            rows.append(recipe.model_copy(update={"name": name, "data": data}))
    return rows, problems


def _validate(tree: dict[str, Any]) -> tuple[Recipe | None, list[str]]:
    """Return the recipe, None if invalid, and its problems."""
    train = tree.get("train")
    problems = []
    if "seed" in tree:
        problems.append("seed must be left to the sweep's seeds")
    if isinstance(train, dict) and "steps" in train:
        problems.append("train.steps must be left to the sweep's source_tokens")
    try:
        schema = recipe_schema(tree.get("task", DEFAULT))
    except ValueError as error:
        return None, [*problems, str(error)]
    schema = schema if issubclass(schema, Recipe) else Recipe  # which says that rows read documents
    return validate(schema, tree, problems), problems
