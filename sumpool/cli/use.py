"""`sumpool use`: choose the run that summarises by default."""

from pathlib import Path
from typing import Annotated

import typer

from sumpool.text.cleaning import escape_line


def use(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Run folder, or shipped; without one, the choice is shown.")
    ] = None,
) -> None:
    """Choose the run that summarises by default.

    `summarize`, `serve` and `Summarizer.load()` take its model in this folder; the choice is kept in runs/. Training
    never changes it; `sumpool use shipped` takes the shipped model again.
    """
    from sumpool.inference.run_files import describe_choice, use_model

    if run:
        use_model(run)
    typer.echo(escape_line(f"model: {describe_choice()}"))
