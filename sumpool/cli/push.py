"""`sumpool push`: upload a trained model to the Hugging Face hub."""

import tempfile
from pathlib import Path
from typing import Annotated, get_args

import typer

from sumpool.cli.console import working
from sumpool.cli.export import Format, Precision
from sumpool.cli.options import RunFolder, choice


def push(
    run: RunFolder,
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
    from sumpool.pretrained.hub import upload
    from sumpool.progress import Progress
    from sumpool.workflows.export_model import export_model

    with working() as output, tempfile.TemporaryDirectory(prefix="sumpool-push-") as temporary:
        folder = Path(temporary) / "model"
        export_model(run, folder, precision, format_, report=output.report, check=output.check)
        size = sum(path.stat().st_size for path in folder.iterdir())
        output.report(Progress("push", note=f"upload {size:,} bytes"))
        address = upload(folder, name, public=public)
        output.result(address)
