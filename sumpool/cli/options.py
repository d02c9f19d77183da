"""Arguments and options that several commands share."""

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
        help="Change a setting of the recipe, such as train.steps=100; may be given often.",
        show_default=False,
    ),
]
Run = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="RUN",
        help="Run folder of the model; by default the newest, or what comes with sumpool.",
        show_default=False,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where the same command stopped.")]
