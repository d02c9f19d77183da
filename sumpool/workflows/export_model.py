"""`sumpool export`: a run folder in, a folder half its size for distributing the model out."""

import shutil
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from sumpool.errors import CheckpointError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.progress import Check, go_on, told_when_stopped
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.runs.model_card import CARD
from sumpool.runs.run_folder import COPIED, RECIPE, new_folder, require_new
from sumpool.training.weights import export


def export_model(run: Path, out: Path, precision: Literal["bf16", "fp32"] = "bf16", *, check: Check = go_on) -> Path:
    """Copy from a run folder what summarising needs, without checkpoints and the metrics log.

    Weights in bf16 have three significant decimal digits; they are converted to fp32 when they are loaded.

    Args:
        run: The run folder, which is not changed.
        out: The new folder; may exist if it is empty.
        precision: Data type of the saved weights.
        check: Called between files.

    Raises:
        CheckpointError: If the run folder has no model or no model card, or a file is damaged.
        RecipeError: If the new folder is not empty.
        ResourceError: If the disk is full or fails.
        Interrupted: If a signal has come; nothing is written.
    """
    require_new(out)
    # 1. Load the model, which verifies the run folder.
    model: nn.Module = load_model(run).model.cpu()
    names = [name for name in (RECIPE, *COPIED, RANKER, CARD) if (run / name).is_file()]
    if CARD not in names:
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    # 2. Fill a folder that appears when it is complete.
    with told_when_stopped("nothing was exported"), new_folder(out) as new:
        for name in names:
            check()
            shutil.copyfile(run / name, new / name)
        facts = {"exported": Manifest.read(run).facts}
        Manifest({name: FileDigest.of(new / name) for name in names if name != CARD}, facts).write(new)
        check()
        export(new, model.to(torch.bfloat16) if precision == "bf16" else model, {})
        check()
    return out
