"""Recipes that come with the package, found by name: `quickstart`, `papers/arxiv/blockwise`."""

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from sumpool.errors import RecipeError

SUFFIX = ".yaml"


class PackagedRecipe(NamedTuple):
    """A recipe or sweep of the package.

    Attributes:
        name: Path below the folder of recipes, without suffix.
        description: Comment in the first line of the file, without the final period.
    """

    name: str
    description: str


def recipes_folder() -> Path:
    """Folder of the packaged recipes: `sumpool/recipes` of a wheel, `recipes` beside `sumpool` in a checkout.

    Raises:
        RecipeError: If the installation has neither.
    """
    package = Path(str(files("sumpool")))
    for folder in (package / "recipes", package.parent / "recipes"):
        if (folder / f"quickstart{SUFFIX}").is_file():
            return folder
    raise RecipeError(f"{package / 'recipes'} must contain the recipes of the package, got none; install sumpool again")


def find_recipe(path: Path) -> Path:
    """Resolve the name of a packaged recipe to its file; every other path is returned unchanged.

    A file or a run folder of the same name takes precedence. A name has no suffix: `rfc.yaml` is always a file.
    """
    if path.suffix == SUFFIX or path.is_absolute() or path.is_file() or (path / "recipe.yaml").is_file():
        return path
    packaged = recipes_folder() / f"{path.as_posix()}{SUFFIX}"
    return packaged if ".." not in path.parts and packaged.is_file() else path


def packaged_recipes() -> list[PackagedRecipe]:
    """List the packaged recipes: those at the top of the folder first, then by name."""
    folder = recipes_folder()
    paths = sorted(folder.rglob(f"*{SUFFIX}"), key=lambda path: (len(path.relative_to(folder).parts) > 1, path))
    comments = [path.read_text("utf-8").partition("\n")[0].strip("# ").removesuffix(".") for path in paths]
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    return list(map(PackagedRecipe, names, comments))
