"""Arguments and options common to several commands."""

from pathlib import Path
from typing import Annotated

import typer

RecipePath = Annotated[
    Path, typer.Argument(metavar="RECIPE", help="The recipe, such as recipes/quickstart.yaml.", show_default=False)
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="A.B=C",
        help="Change a setting of the recipe, such as train.steps=100; repeatable.",
        show_default=False,
    ),
]
Run = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="RUN",
        help="Run folder of the model; default: the newest run, else the model that ships with sumpool.",
        show_default=False,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue where the same command was interrupted.")]
