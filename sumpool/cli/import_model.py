"""`sumpool import`: convert a model of Hugging Face to a run folder."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import print_message, working
from sumpool.cli.options import choice, token_count

Attention = Literal["keep", "sliding_window", "blockwise"]
CrossAttention = Literal["keep", "hepos"]
Extend = Literal["repeat", "flip", "last"]


def import_model(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Folder of the model, or its name on the Hugging Face hub.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Run folder to create.")],
    attention: Annotated[
        Attention, choice("--attention", Attention, "Self-attention of the encoder; all weights are kept.")
    ] = "keep",
    cross_attention: Annotated[
        CrossAttention,
        choice("--cross-attention", CrossAttention, "Cross-attention of the decoder; all weights are kept."),
    ] = "keep",
    window: Annotated[
        int | None, token_count("--window", "Window size (both sides together) or block size, in tokens.")
    ] = None,
    positions: Annotated[
        int | None, token_count("--positions", "Maximum document length in tokens; default: that of the model.")
    ] = None,
    extend: Annotated[
        Extend,
        choice(
            "--extend",
            Extend,
            "New positions: copies of the learned ones, with every second copy reversed, or of the last one.",
        ),
    ] = "repeat",
    name: Annotated[str | None, typer.Option(help="Name in the recipe; default: the name in PATH.")] = None,
) -> None:
    """Import a pretrained BART, LED, Marian, mBART or PEGASUS to summarise with, fine-tune or adapt.

    LoBART is a BART with --attention sliding_window --window 1024 --positions 4096. A model that sumpool exported
    is copied and verified.
    """
    from sumpool.pretrained.config import ImportOptions
    from sumpool.workflows.import_model import import_model as run_import

    options = ImportOptions(attention, window, positions, extend, cross_attention)
    with working() as output:
        run = run_import(path, out, options, name=name, report=output.report, check=output.check)
    print_message(f"next: sumpool summarize --model {run} doc.txt")
    output.result(str(run))
