"""`sumpool push`: upload a trained model to the Hugging Face hub."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from sumpool.cli.console import working
from sumpool.cli.export import Format, Precision
from sumpool.cli.options import choice


def push(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of the model.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Repository on the hub, such as user/model.")],
    precision: Annotated[
        Precision | None, choice("--precision", get_args(Precision), "Data type of the weights, as in export.")
    ] = None,
    format_: Annotated[Format, choice("--format", get_args(Format), "Files to upload, as in export.")] = "safetensors",
    public: Annotated[
        bool, typer.Option("--public", help="Make a new repository public; it is private otherwise.")
    ] = False,
) -> None:
    """Export a model and upload it to the Hugging Face hub.

    The token is that of `hf auth login`, or of the environment variable HF_TOKEN. `sumpool import NAME OUT` gets the
    model back.
    """
    from sumpool.workflows.push_model import push_model

    with working() as output:
        address = push_model(run, name, precision, format_, public=public, report=output.report, check=output.check)
        output.result(address)
