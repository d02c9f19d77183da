"""`sumpool push`: export a model and upload it to the Hugging Face hub."""

import tempfile
from pathlib import Path
from typing import Literal

from sumpool.pretrained.hub import upload
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.workflows.export_model import Format, export_model


def push_model(
    run: Path,
    name: str,
    precision: Literal["bf16", "fp32"] | None = None,
    format_: Format = "safetensors",
    *,
    public: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> str:
    """Export a model to a temporary folder and upload that.

    Args:
        run: The run folder.
        name: Repository on the hub, such as "user/model"; made if it is not there.
        precision: As in `export_model`.
        format_: As in `export_model`.
        public: Whether a new repository is public.
        report: Called with progress.
        check: Called between files, and before the upload.

    Returns:
        Address of the model.

    Raises:
        CheckpointError: If the model cannot be exported, or the hub refuses it.
        RecipeError: If the format has no such precision, or a library is missing.
        ResourceError: If the disk is full or fails.
        Interrupted: If a signal came before the upload.
    """
    with tempfile.TemporaryDirectory(prefix="sumpool-push-") as temporary:
        folder = export_model(run, Path(temporary) / "model", precision, format_, report=report, check=check)
        check()
        report(Progress("push", note=f"upload {sum(path.stat().st_size for path in folder.iterdir()):,} bytes"))
        return upload(folder, name, public=public)
