"""`sumpool export`: copy a trained model out of its run folder."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sumpool.cli.console import working
from sumpool.cli.options import RunFolder, choice

Precision = Literal["bf16", "fp32"]
Format = Literal["safetensors", "onnx", "huggingface"]


def export(
    run: RunFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to create.")],
    precision: Annotated[
        Precision | None,
        choice(
            "--precision",
            Precision,
            "Data type of the stored weights; bf16 takes half the space. Default: bf16 for sumpool, otherwise fp32.",
        ),
    ] = None,
    format_: Annotated[
        Format,
        choice("--format", Format, "Files for sumpool, graphs for ONNX Runtime, or a model for transformers."),
    ] = "safetensors",
) -> None:
    """Copy a model without checkpoints and logs, to pass it on.

    The result works wherever a run folder does: for --model, and to initialise another training run. With another
    --format it is for other programs.
    """
    from sumpool.workflows.export_model import export_model

    with working() as output:
        folder = export_model(run, out, precision, format_, report=output.report, check=output.check)
        output.result(str(folder))
