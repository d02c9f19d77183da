"""What a run keeps on disk: checkpoints to go on from, and the best weights to use.

A checkpoint is a folder `step-00001234`: safetensors for weights and moments, JSON for the rest, and a manifest written
last. It is made under another name, flushed, and renamed into place once; nothing ever writes into a finished one. It
holds the run as it was after that step and before the validation that may follow it.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from sumpool.data.files import sync
from sumpool.errors import CheckpointError
from sumpool.progress import Progress, Report, silent
from sumpool.training.atomic_io import beside, move, on_disk, remove_half_written, require_space
from sumpool.training.manifest import Content, Manifest, put_in_place
from sumpool.training.weights import needed_weights, set_weights, weights_of

MODEL = "model.safetensors"
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
FILES = (MODEL, OPTIMIZER, STATE)


@dataclass(frozen=True)
class Checkpoint:
    """What a run goes on from.

    Attributes:
        weights: The model's tensors by name.
        moments: The optimizer's tensors by name.
        state: Everything else, as JSON.
    """

    weights: Mapping[str, Tensor]
    moments: Mapping[str, Tensor]
    state: Mapping[str, Any]


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, keep: int) -> None:
        """Open a folder, which need not exist.

        Args:
            folder: Where the checkpoints are.
            keep: Newest ones that stay; two at least, so that one may break.
        """
        self.folder = folder
        self.keep = keep

    def path(self, step: int) -> Path:
        """Name the checkpoint of a step."""
        return self.folder / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """List the steps that have a checkpoint, in order, whether or not it is whole."""
        return sorted(int(path.name[5:]) for path in self.folder.glob("step-*") if path.name[5:].isdecimal())

    def clean(self) -> None:
        """Remove what a crash left half written.

        Raises:
            ResourceError: If the disk refuses.
        """
        with on_disk(self.folder):
            remove_half_written(self.folder)

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        """Write the checkpoint of a step, unless a whole one is there: a step always leads to the same bytes.

        Raises:
            ResourceError: If the disk is full or fails; the other checkpoints are as they were.
        """
        target = self.path(step)
        if target.exists():
            if _is_whole(target):
                return
            with on_disk(target):
                self._discard(target)
        half = beside(target)
        with on_disk(target):
            try:
                half.mkdir(parents=True)
                tensors = [*checkpoint.weights.values(), *checkpoint.moments.values()]
                require_space(half, sum(tensor.nbytes for tensor in tensors))
                _fill(half, step, checkpoint)
                move(half, target)
            except BaseException:
                shutil.rmtree(half, ignore_errors=True)
                raise

    def prune(self, step: int, best_step: int) -> None:
        """Delete checkpoints that are neither among the newest nor the best, once the newest is known to be whole.

        Args:
            step: Step of the newest; later ones are broken, for the run would have gone on from them.
            best_step: Step with the best validation.

        Raises:
            CheckpointError: If the newest is not what was written.
            ResourceError: If the disk refuses.
        """
        _verify(self.path(step))
        past = [other for other in self.steps() if other <= step]
        with on_disk(self.folder):
            for other in past[: -self.keep]:
                if other != best_step:
                    self._discard(self.path(other))

    def load_newest(self, report: Report = silent) -> Checkpoint | None:
        """Load the newest checkpoint that is whole, and name each broken one.

        Returns:
            None where there is none at all.

        Raises:
            CheckpointError: If there are checkpoints and every one is broken.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                return _load(self.path(step))
            except CheckpointError as error:
                report(Progress("train", note=f"passed over a broken checkpoint: {error}"))
        if steps:
            raise CheckpointError(
                f"{self.folder} must hold a whole checkpoint, but all {len(steps)} are broken: "
                "move the folder away to start again, or give another with --out"
            )
        return None

    def _discard(self, path: Path) -> None:
        """Delete a checkpoint so that a crash on the way leaves none that looks whole."""
        move(path, beside(path))
        shutil.rmtree(beside(path))


def export(run: Path, model: nn.Module, facts: Mapping[str, Any]) -> None:
    """Make the model's present weights those of the run folder; after a crash at any moment the folder still loads.

    Args:
        run: The run folder, with a manifest.
        model: The model.
        facts: What to say about these weights in the manifest, as JSON.

    Raises:
        ResourceError: If the disk is full or fails; the folder is as it was.
        CheckpointError: If the manifest is broken.
    """
    path = run / MODEL
    with on_disk(path):
        _write(weights_of(model), beside(path))
        put_in_place(path, facts)


def load_weights(run: Path, model: nn.Module, *, leave_out: bool = False) -> None:
    """Give a model the best weights of a run, after checking every file that the run folder's manifest names.

    Args:
        run: The run folder.
        model: A model built from the folder's recipe.
        leave_out: Whether weights of parts that the model does not have are left out.

    Raises:
        CheckpointError: If a file is missing, damaged, or belongs to another model.
    """
    weights = read_weights(run)
    if leave_out:
        weights = needed_weights(model, weights)
    set_weights(model, weights, str(run / MODEL))


def read_weights(run: Path) -> dict[str, Tensor]:
    """Read the best weights of a run, after checking every file that the run folder's manifest names.

    Args:
        run: The run folder.

    Returns:
        The weights by name, in single precision.

    Raises:
        CheckpointError: If a file is missing or damaged.
    """
    path = run / MODEL
    manifest, content = Manifest.read(run), _read(path)
    if Content.of_bytes(content) not in manifest.accepted(MODEL):
        manifest = Manifest.read(run)  # a training run may just have put better weights there, and says so by now
    manifest.verify(run, manifest.files.keys() - {MODEL})
    manifest.compare(path, Content.of_bytes(content))
    weights: dict[str, Tensor] = safetensors.torch.load(content)
    return {name: weight.float() if weight.dtype == torch.bfloat16 else weight for name, weight in weights.items()}


def _fill(half: Path, step: int, checkpoint: Checkpoint) -> None:
    _write(checkpoint.weights, half / MODEL)
    _write(checkpoint.moments, half / OPTIMIZER)
    (half / STATE).write_text(json.dumps(checkpoint.state, allow_nan=False), encoding="utf-8")
    for name in FILES:
        sync(half / name)
    Manifest({name: Content.of(half / name) for name in FILES}, {"step": step}).write(half)


def _write(tensors: Mapping[str, Tensor], path: Path) -> None:
    safetensors.torch.save_file(dict(tensors), path)
    path.chmod(0o644)  # safetensors lets only the owner read, unlike every other file of a run


def _load(folder: Path) -> Checkpoint:
    _verify(folder)
    return Checkpoint(
        safetensors.torch.load_file(folder / MODEL),
        safetensors.torch.load_file(folder / OPTIMIZER),
        json.loads(_read(folder / STATE)),
    )


def _verify(folder: Path) -> None:
    manifest = Manifest.read(folder)
    manifest.verify(folder, FILES)
    if folder.name != f"step-{manifest.facts['step']:08d}":
        raise CheckpointError(f"{folder} must be the checkpoint of step {manifest.facts['step']}: it was renamed")


def _is_whole(folder: Path) -> bool:
    try:
        _verify(folder)
    except CheckpointError:
        return False
    return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} must be readable, got: {error}") from error
