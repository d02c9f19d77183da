"""`sumpool export`: a run folder in, a folder for distributing the model out."""

import shutil
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from sumpool.errors import CheckpointError, RecipeError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.onnx.convert import convert, require_onnx
from sumpool.onnx.session import check_graphs
from sumpool.progress import Check, Progress, Report, go_on, silent, told_when_stopped
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.runs.model_card import CARD, onnx_section
from sumpool.runs.run_folder import COPIED, RECIPE, new_folder, require_new
from sumpool.training.weights import export

Format = Literal["safetensors", "onnx"]


def export_model(
    run: Path,
    out: Path,
    precision: Literal["bf16", "fp32"] | None = None,
    format_: Format = "safetensors",
    *,
    report: Report = silent,
    check: Check = go_on,
) -> Path:
    """Copy from a run folder what summarising needs, without checkpoints and the metrics log.

    Weights in bf16 have three significant decimal digits; they are converted to fp32 when they are loaded.

    Args:
        run: The run folder, which is not changed.
        out: The new folder; may exist if it is empty.
        precision: Data type of the saved weights; None takes bf16, or fp32 in the graphs of ONNX, which have no other.
        format_: "safetensors" for sumpool, or "onnx" for ONNX Runtime.
        report: Called before the conversion to ONNX, which takes half a minute.
        check: Called between files.

    Raises:
        CheckpointError: If the run folder has no model or no model card, a file is damaged, or the model cannot be
            converted.
        RecipeError: If the new folder is not empty, the format has no such precision, or its libraries are missing.
        ResourceError: If the disk is full or fails.
        Interrupted: If a signal has come; nothing is written.
    """
    require_new(out)
    if format_ == "onnx":
        require_onnx()
        if precision == "bf16":
            raise RecipeError("--precision must be fp32 with --format onnx, got bf16")
    # 1. Load the model, which verifies the run folder.
    model = load_model(run).model.cpu()
    copied = (RECIPE, *COPIED, CARD) if format_ == "onnx" else (RECIPE, *COPIED, RANKER, CARD)
    names = [name for name in copied if (run / name).is_file()]
    if CARD not in names:
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    # 2. Fill a folder that appears when it is complete.
    with told_when_stopped("nothing was exported"), new_folder(out) as new:
        for name in names:
            check()
            shutil.copyfile(run / name, new / name)
        if format_ == "onnx":
            check()
            report(Progress("export", note="convert encoder and decoder to ONNX, and compare them with the model"))
            section = onnx_section(run, model, convert(model, new))
            check()
            check_graphs(model, new)
            (new / CARD).write_text((run / CARD).read_text("utf-8") + section, "utf-8")
            names += [path.name for path in new.glob("*.onnx*")]
        facts = {"exported": Manifest.read(run).facts}
        Manifest({name: FileDigest.of(new / name) for name in sorted(names) if name != CARD}, facts).write(new)
        check()
        if format_ == "safetensors":
            weights: nn.Module = model if precision == "fp32" else model.to(torch.bfloat16)
            export(new, weights, {})
        check()
    return out
