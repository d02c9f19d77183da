"""Arguments and options common to several commands."""

from pathlib import Path
from typing import Annotated

import typer


def _find(path: Path) -> Path:
    from sumpool.recipe.packaged import find_recipe

    return find_recipe(path)


RecipePath = Annotated[
    Path,
    typer.Argument(
        metavar="RECIPE",
        help="A recipe file, or a name that `sumpool recipes` lists, such as quickstart.",
        callback=_find,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="A.B=C", help="Change a setting of the recipe, such as train.steps=100; repeatable."),
]
Run = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="RUN",
        help="Run folder of the model; default: the newest run, else the model that ships with sumpool.",
    ),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Compare the prepared data with all its hashes; default: what has changed.")
]
VERIFY = "data.verify=true"
"""Setting of `--verify`."""
Resume = Annotated[bool, typer.Option("--resume", help="Continue where the same command was interrupted.")]
