"""`sumpool export`: a run folder in, a smaller one out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import screen


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of the model.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to make.", show_default=False)],
    precision: Annotated[
        Literal["bf16", "fp32"], typer.Option(help="What weights are kept in; bf16 takes half the bytes.")
    ] = "bf16",
) -> None:
    """Copy what summarising takes out of a run folder, to hand the model on.

    The folder is one for --model wherever a run folder is, and its weights may begin another training.
    """
    from sumpool.workflows.export_model import export_model

    with screen() as shown:
        shown.result(str(export_model(run, out, precision)))
