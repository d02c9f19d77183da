"""`sumpool import`: a model of Hugging Face in, a run folder out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import screen
from sumpool.cli.text import complain


def import_model(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="Folder of a BART or LED, or its name on the Hugging Face hub.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Run folder to make.", show_default=False)],
    attention: Annotated[
        Literal["keep", "sliding_window", "blockwise"],
        typer.Option(help="Self-attention of the encoder; another one takes over all weights."),
    ] = "keep",
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens that one sees, both sides together, or of a block.", show_default=False),
    ] = None,
    positions: Annotated[
        int | None, typer.Option(min=1, help="Tokens of a document to read; as before by default.", show_default=False)
    ] = None,
    extend: Annotated[
        Literal["repeat", "flip"],
        typer.Option(help="More positions: copies of the learned ones, or every second copy back to front."),
    ] = "repeat",
    name: Annotated[str | None, typer.Option(help="Name in the recipe; by default that of PATH.")] = None,
) -> None:
    """Import a pretrained BART or LED: it summarises as before, and can be shrunk, adapted and trained on.

    LoBART is a BART with --attention sliding_window --window 1024 --positions 4096.
    """
    from sumpool.interruption import interruptible
    from sumpool.pretrained.config import Changes
    from sumpool.workflows.import_model import import_model as bring_in

    changes = Changes(attention, window, positions, extend)
    with screen() as shown, interruptible() as interruption:
        run = bring_in(path, out, changes, name=name, report=shown.report, check=interruption.check)
    complain(f"next: sumpool summarize --model {run} doc.txt")
    shown.result(str(run))
