"""`sumpool recipes`: list the recipes of the package."""

from typing import Annotated

import typer

from sumpool.cli.console import table
from sumpool.text.cleaning import escape


def recipes(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this recipe instead.")] = None,
) -> None:
    """List the recipes that come with sumpool, or print one.

    Each name works wherever a recipe file does: sumpool train quickstart. To adapt a recipe, save it first:
    sumpool recipes quickstart > mine.yaml
    """
    from pathlib import Path

    from sumpool.recipe.files import find_recipe, packaged_recipes

    if name:
        from sumpool.recipe.load import read_text  # here, as the schema needs torch

        typer.echo(escape(read_text(find_recipe(Path(name)))), nl=False)
    else:
        typer.echo(table(["recipe", "description"], [list(recipe) for recipe in packaged_recipes().items()]))
