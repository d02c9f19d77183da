"""Sweeps: one YAML file that describes several runs under one budget, and how its rows become recipes.

A row is the file's complete recipe with a few settings changed by their paths, as `--set` would; or each row is a
recipe file of its own. All rows share the data and read the same number of source tokens, so that a table may compare
them.
"""

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from sumpool.data.sources._base import Split
from sumpool.errors import RecipeError
from sumpool.recipe.load import load_recipe, read_tree, report
from sumpool.recipe.overrides import assign, override_all
from sumpool.recipe.problems import sentences, show
from sumpool.recipe.schema import Recipe
from sumpool.settings import Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
_FIRST_WORD = re.compile(r"\w*")


class Sweep(Settings):
    """A file with several runs."""

    sweep: str = Field(pattern=rf"^{_NAME.pattern}$")
    """Name of the sweep and of the folder of its runs."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1,), min_length=1)
    """Every row is trained once with each."""
    source_tokens: int = Field(ge=1)
    """Source tokens that every run reads, padding not counted; its updates follow from that."""
    split: Split = "validation"
    """What is summarised and scored."""
    target_loss: Annotated[float, Field(gt=0)] | Literal["auto"] = "auto"
    """Validation loss, nats per token, to which the seconds are counted; auto is the worst last one of all runs."""
    recipe: dict[str, Any] | None = None
    """A complete recipe but for name, seed and train.steps."""
    rows: dict[str, dict[str, Any] | None] = Field(default_factory=dict)
    """What each row changes in it: values by path."""
    recipes: tuple[Path, ...] = ()
    """Files whose recipes are the rows, instead of recipe and rows; their seed and train.steps give way."""

    @model_validator(mode="after")
    def _rows_come_from_one_place(self) -> Self:
        if self.recipes and (self.recipe is not None or self.rows):
            raise ValueError("recipes must stand alone, got recipe or rows beside it")
        if not self.recipes and (self.recipe is None or not self.rows):
            raise ValueError("a sweep must have recipe and rows, or recipes, got none")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must be different, got {list(self.seeds)}")
        return self


@dataclass(frozen=True)
class SweepRow:
    """One system of a sweep.

    Attributes:
        name: Its name.
        recipe: Its recipe; seed and train.steps do not count.
    """

    name: str
    recipe: Recipe


@dataclass(frozen=True)
class LoadedSweep:
    """A sweep whose every row is known to be a recipe.

    Attributes:
        settings: The file.
        rows: Its rows, in the order of the file.
    """

    settings: Sweep
    rows: tuple[SweepRow, ...]


def is_sweep(path: Path) -> bool:
    """Whether a file is a sweep; any other file, readable or not, is for `load_recipe` to judge."""
    try:
        return path.is_file() and "sweep" in read_tree(path)
    except (RecipeError, ValueError, OSError):  # ValueError: a NUL in the path
        return False


def load_sweep(path: Path, overrides: Sequence[str] = ()) -> LoadedSweep:
    """Read a sweep and make the recipe of every row.

    Args:
        path: The YAML file.
        overrides: Settings to change, each like `seeds=[1]`, or of the recipe of all rows, like `train.clip=0.5`.

    Raises:
        RecipeError: If the file cannot be read or anything in it is wrong; names the problems of all rows.
    """
    tree = read_tree(path)
    first_words = ((each, _FIRST_WORD.match(each)[0]) for each in overrides)  # type: ignore[index] # matches always
    for_rows = [each for each, word in first_words if word not in Sweep.model_fields]
    problems = override_all(tree, (each for each in overrides if each not in for_rows))
    try:
        sweep = Sweep.model_validate(tree)
    except ValidationError as error:
        raise RecipeError(report(path, [*problems, *sentences(error, Sweep)])) from error
    rows, found = _changed(sweep, for_rows) if sweep.recipe is not None else _listed(sweep, for_rows)
    problems += found or _disagreements(rows)
    if problems:
        raise RecipeError(report(path, problems))
    return LoadedSweep(sweep, tuple(rows))


def _changed(sweep: Sweep, overrides: Sequence[str]) -> tuple[list[SweepRow], list[str]]:
    """Make the rows out of the file's own recipe; what is wrong with that is not said again for every row."""
    base = {"name": sweep.sweep, **copy.deepcopy(sweep.recipe or {})}
    problems = override_all(base, overrides)
    shared = _validate(base)[1]
    problems += [f"recipe: {problem}" for problem in shared]
    rows = []
    for name, changes in sweep.rows.items():
        tree = copy.deepcopy(base)
        found = [] if _NAME.fullmatch(name) else [f"its name must match {_NAME.pattern}, got {show(name)}"]
        for path, value in (changes or {}).items():
            try:
                assign(tree, path, copy.deepcopy(value))
            except ValueError as error:
                found.append(f"{path}: {error}")
        recipe, wrong = _validate(tree)
        found += [problem for problem in wrong if problem not in shared]
        problems += [f"rows.{name}: {problem}" for problem in found]
        if recipe:
            rows.append(SweepRow(name, recipe))
    return rows, problems


def _validate(tree: dict[str, Any]) -> tuple[Recipe | None, list[str]]:
    """Make a recipe, or say what is wrong with it."""
    train = tree.get("train")
    problems = []
    if "seed" in tree:
        problems.append("seed must be left to the sweep's seeds")
    if isinstance(train, dict) and "steps" in train:
        problems.append("train.steps must be left to the sweep's source_tokens")
    try:
        return Recipe.model_validate(tree), problems
    except ValidationError as error:
        return None, problems + sentences(error, Recipe)


def _listed(sweep: Sweep, overrides: Sequence[str]) -> tuple[list[SweepRow], list[str]]:
    """Read the rows from files of their own."""
    rows: dict[str, SweepRow] = {}
    problems = []
    for number, path in enumerate(sweep.recipes):
        try:
            recipe = load_recipe(path, overrides)
        except RecipeError as error:
            problems.append(str(error))
            continue
        if recipe.name in rows or not _NAME.fullmatch(recipe.name):
            problems.append(f"recipes[{number}] must have a short name of its own, got {recipe.name!r} from {path}")
        rows[recipe.name] = SweepRow(recipe.name, recipe)
    return list(rows.values()), problems


def _disagreements(rows: Sequence[SweepRow]) -> list[str]:
    """Name the rows whose data are not those of the first."""
    first = rows[0]
    return [
        f"rows.{row.name}: data must be the same in every row, got others than in {first.name}"
        for row in rows
        if row.recipe.data != first.recipe.data
    ]
