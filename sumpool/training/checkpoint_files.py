"""Files of a checkpoint.

A checkpoint is a folder `step-00001234`: safetensors for weights and moments, JSON for the rest, and a manifest. The
tensors are in two files if one process has written them, and in a shard of each process otherwise. Any number of
processes reads both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from sumpool.errors import CheckpointError
from sumpool.io.bounded import read_json
from sumpool.io.manifest import MODEL, FileDigest, Manifest
from sumpool.training.state import TrainingState
from sumpool.training.weights import load_tensors

OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
FILES = (MODEL, OPTIMIZER, STATE)
"""Files of a checkpoint that one process has written."""
PREFIXES = {MODEL: "model.", OPTIMIZER: "optimizer."}
"""Beginnings of the names of weights and moments in shards."""


@dataclass(frozen=True)
class Checkpoint:
    """State of a run to resume from.

    Attributes:
        weights: The model's tensors by name.
        moments: The optimizer's tensors by name.
        state: Everything else, as JSON.
    """

    weights: Mapping[str, Tensor]
    moments: Mapping[str, Tensor]
    state: Mapping[str, Any]


def describe(folder: Path, step: int, state: Mapping[str, Any], digests: Mapping[str, FileDigest]) -> None:
    """Write the state and the manifest of a checkpoint, which complete it.

    Args:
        folder: Folder of the checkpoint, under its temporary name.
        step: Its step.
        state: State of the run, as JSON.
        digests: Digests of the files of its tensors.
    """
    (folder / STATE).write_text(json.dumps(state, allow_nan=False), encoding="utf-8")
    files = {**digests, STATE: FileDigest.of(folder / STATE)}
    Manifest(files, {"step": step}, kind="checkpoint").write(folder)


def load_checkpoint(folder: Path) -> Checkpoint:
    """Verify and read a checkpoint.

    Raises:
        CheckpointError: If it is damaged.
    """
    is_sharded = verify(folder)
    weights, moments = (load_finite(folder, name, is_sharded=is_sharded) for name in (MODEL, OPTIMIZER))
    state = read_json(folder / STATE, CheckpointError, "continue from another checkpoint")
    try:
        TrainingState.from_json(state)
    except CheckpointError as error:
        raise CheckpointError(f"{folder / STATE}: {error}") from error
    return Checkpoint(weights, moments, state)


def load_finite(folder: Path, name: str, *, is_sharded: bool) -> dict[str, Tensor]:
    """Read weights or moments.

    Args:
        folder: Folder of the checkpoint.
        name: File of them if one process has written the checkpoint.
        is_sharded: Whether several have.

    Raises:
        CheckpointError: If a file is damaged, or a number is not finite.
    """
    if is_sharded:
        # Imported here, as trainings of one process do not import torch.distributed.
        from sumpool.training.checkpoint_shards import read_shards

        tensors = read_shards(folder, PREFIXES[name])
    else:
        tensors = load_tensors(folder / name)
    for tensor_name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise CheckpointError(
                f"{folder / name} must hold finite numbers, got others in {tensor_name}: it is of a failed update"
            )
    return tensors


def verify(folder: Path) -> bool:
    """Compare a checkpoint with its manifest, and return whether its tensors are in shards.

    Raises:
        CheckpointError: If a file is missing, changed or not listed, or the folder was renamed.
    """
    manifest = Manifest.read(folder, "checkpoint")
    is_sharded = MODEL not in manifest.files
    manifest.verify(folder, {*manifest.files, STATE} if is_sharded else FILES)
    for path in folder.glob("*.safetensors") if is_sharded else ():
        manifest.compare_size(path, path.name, path.stat().st_size)  # all that are there are read
    step = manifest.facts.get("step")
    if not isinstance(step, int) or folder.name != f"step-{step:08d}":
        raise CheckpointError(f"{folder} must be the checkpoint of step {step!r}: it was renamed")
    return is_sharded
