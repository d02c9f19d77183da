"""`sumpool export`: of a run folder what summarising takes, in half the bytes, to be handed on."""

import shutil
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from sumpool.errors import CheckpointError
from sumpool.inference.loading import load_model
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.runs.model_card import CARD
from sumpool.runs.run_folder import COPIED, RECIPE, new_folder, require_new
from sumpool.training.weights import export


def export_model(run: Path, out: Path, precision: Literal["bf16", "fp32"] = "bf16") -> Path:
    """Make a folder that summarises as a run does, without what only its training needs.

    Weights of 16 bits are those of 32 rounded to three decimal digits; everything is computed as before.

    Args:
        run: The run folder, which stays as it is.
        out: The folder, new or empty.
        precision: What weights are rounded to.

    Returns:
        The folder.

    Raises:
        CheckpointError: If there is no model in the run folder, or it is damaged.
        RecipeError: If there is something in the new folder.
        ResourceError: If the disk is full or fails.
    """
    require_new(out)
    # 1. A model that is whole.
    model: nn.Module = load_model(run).model.cpu()
    names = [name for name in (RECIPE, *COPIED, CARD) if (run / name).is_file()]
    if CARD not in names:
        raise CheckpointError(f"{run} must have {CARD}, its model card, but its training has not ended; let it go on")
    # 2. A folder that appears when everything is in it.
    with new_folder(out) as new:
        for name in names:
            shutil.copyfile(run / name, new / name)
        facts = {"exported": Manifest.read(run).facts}
        Manifest({name: FileDigest.of(new / name) for name in names if name != CARD}, facts).write(new)
        export(new, model.to(torch.bfloat16) if precision == "bf16" else model, {})
    return out
