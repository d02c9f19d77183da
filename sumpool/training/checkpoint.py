"""Checkpoints of a run.

A checkpoint is a folder `step-00001234`: safetensors for weights and moments, JSON for the rest, and a manifest. Its
tensors are whole, whatever the number of processes that trained, so that any number resumes from it. It holds the state
of the run after a step and before the validation that may follow. It is filled under a temporary name, flushed, and
renamed into place once; nothing ever writes into a finished one.
"""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from sumpool.data.batches import Position
from sumpool.errors import CheckpointError
from sumpool.io.atomic import (
    disk_errors,
    remove,
    remove_temporary,
    rename_synced,
    replace_folder,
    require_space,
    temporary_path,
)
from sumpool.io.bounded import read_json
from sumpool.io.manifest import MODEL, FileDigest, Manifest
from sumpool.progress import Progress, Report, no_op
from sumpool.training.weights import export, load_tensors, save_tensors

CHECKPOINTS = "checkpoints"
"""Folder of the checkpoints of a run."""
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
FILES = (MODEL, OPTIMIZER, STATE)
"""Files of a checkpoint."""


@dataclass(frozen=True)
class TrainingState:
    """State of a run; together with weights and moments, everything needed to resume.

    Attributes:
        step: Updates made.
        position: Position in the training data.
        best_loss: Validation loss of the best weights so far, nats per token; None before the first validation.
        best_step: Step of the best weights; 0 before the first validation.
        best_score: ROUGE of the best weights, from 0 to 100; None if they are selected by their loss.
        stale_validations: Validations since `best_step`.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    best_loss: float | None = None
    best_step: int = 0
    stale_validations: int = 0
    best_score: float | None = None

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "TrainingState":
        """Inverse of `dataclasses.asdict`.

        Raises:
            CheckpointError: If the entries are not those of a state.
        """
        try:
            state = cls(**{**entries, "position": Position(**entries["position"])})
        except (TypeError, LookupError) as error:
            raise CheckpointError(f"a checkpoint must hold the state of a run, got {entries!r:.200}") from error
        counts = (state.step, state.best_step, state.stale_validations, state.position.epoch, state.position.batch)
        scores = [score for score in (state.best_loss, state.best_score) if score is not None]
        are_counts = all(type(count) is int and 0 <= count < 1 << 63 for count in counts)
        if not are_counts or not all(type(score) in (int, float) and math.isfinite(score) for score in scores):
            raise CheckpointError(f"a checkpoint must hold numbers of steps and finite scores, got {entries!r:.200}")
        return state

    def after_validation(self, loss: float, score: float | None = None) -> "TrainingState":
        """State after a validation: the best weights have the highest score, or without scores the lowest loss."""
        if score is None:
            is_best = self.best_loss is None or loss < self.best_loss
        else:
            is_best = self.best_score is None or score > self.best_score
        if is_best:
            return replace(self, best_loss=loss, best_step=self.step, stale_validations=0, best_score=score)
        return replace(self, stale_validations=self.stale_validations + 1)


@dataclass(frozen=True)
class Checkpoint:
    """State of a run to resume from.

    Attributes:
        weights: The model's tensors by name.
        moments: The optimizer's tensors by name.
        state: Everything else.
    """

    weights: Mapping[str, Tensor]
    moments: Mapping[str, Tensor]
    state: TrainingState


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, keep: int) -> None:
        """Open a folder, which need not exist.

        Args:
            folder: Folder of the checkpoints.
            keep: Number of newest checkpoints to keep; at least two, so that one may be damaged.
        """
        self.folder = folder
        self.keep = keep

    def path(self, step: int) -> Path:
        """Return the folder of a step's checkpoint."""
        return self.folder / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """List the steps that have a checkpoint, in order, intact or not."""
        names = [path.name for path in self.folder.glob("step-*") if path.name[5:].isdecimal()]
        return sorted(int(name[5:]) for name in names if self.path(int(name[5:])).name == name)

    def clean(self) -> None:
        """Remove incomplete checkpoints that a crash left.

        Raises:
            CheckpointError: If the folder is a link, by which a run would write and delete elsewhere.
            ResourceError: If the disk fails.
        """
        if self.folder.is_symlink():
            raise CheckpointError(f"{self.folder} must be a folder, got a link; move what it leads to here")
        with disk_errors(self.folder):
            remove_temporary(self.folder)

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        """Write the checkpoint of a step, unless an intact one exists: a step always leads to the same bytes.

        Raises:
            ResourceError: If the disk is full or fails; the other checkpoints are as they were.
        """
        target = self.path(step)
        if target.exists() or target.is_symlink():
            with suppress(CheckpointError):
                verify(target)
                return
            with disk_errors(target):
                self._discard(target)
        with disk_errors(target), replace_folder(target) as folder:
            tensors = [*checkpoint.weights.values(), *checkpoint.moments.values()]
            require_space(folder, sum(tensor.nbytes for tensor in tensors))
            save_tensors(checkpoint.weights, folder / MODEL)
            save_tensors(checkpoint.moments, folder / OPTIMIZER)
            (folder / STATE).write_text(json.dumps(asdict(checkpoint.state), allow_nan=False), encoding="utf-8")
            digests = {name: FileDigest.of(folder / name) for name in FILES}
            Manifest(digests, {"step": step}, kind="checkpoint").write(folder)

    def prune(self, step: int, best_step: int) -> None:
        """Delete checkpoints that are neither among the newest nor the best, once the newest is verified.

        Of a checkpoint that is a link, the link is deleted.

        Args:
            step: Step of the newest intact checkpoint; later ones are damaged, or the run would have resumed from them.
            best_step: Step with the best validation loss.

        Raises:
            CheckpointError: If the newest checkpoint is damaged.
            ResourceError: If the disk fails.
        """
        verify(self.path(step))
        valid = [other for other in self.steps() if other <= step]
        with disk_errors(self.folder):
            for other in valid[: -self.keep]:
                if other != best_step:
                    self._discard(self.path(other))

    def load_newest(self, report: Report = no_op) -> Checkpoint | None:
        """Load the newest intact checkpoint and report each damaged one.

        Returns:
            The checkpoint; None if there are no checkpoints.

        Raises:
            CheckpointError: If there are checkpoints and all are damaged.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                return load_checkpoint(self.path(step))
            except CheckpointError as error:
                report(Progress("train", note=f"skipped a damaged checkpoint: {error}"))
        if steps:
            raise CheckpointError(
                f"{self.folder} must hold an intact checkpoint, but all {len(steps)} are damaged: "
                "move the folder away to start again, or give another with --out"
            )
        return None

    def _discard(self, path: Path) -> None:
        """Delete a checkpoint so that a crash on the way leaves none that looks intact."""
        rename_synced(path, temporary_path(path))
        remove(temporary_path(path))


def load_checkpoint(folder: Path) -> Checkpoint:
    """Verify and read a checkpoint.

    Raises:
        CheckpointError: If it is damaged.
    """
    verify(folder)
    weights, moments = (load_tensors(folder / name) for name in (MODEL, OPTIMIZER))
    for name, tensor in (*weights.items(), *moments.items()):
        if not tensor.isfinite().all():
            raise CheckpointError(f"{folder} must hold finite numbers, got others in {name}: it is of a failed update")
    state = read_json(folder / STATE, CheckpointError, "continue from another checkpoint")
    try:
        return Checkpoint(weights, moments, TrainingState.from_json(state))
    except CheckpointError as error:
        raise CheckpointError(f"{folder / STATE}: {error}") from error


def verify(folder: Path) -> None:
    """Compare a checkpoint with its manifest.

    Raises:
        CheckpointError: If a file is missing, changed or not listed, or the folder was renamed.
    """
    manifest = Manifest.read(folder, "checkpoint")
    manifest.verify(folder, FILES)
    step = manifest.facts.get("step")
    if not isinstance(step, int) or folder.name != f"step-{step:08d}":
        raise CheckpointError(f"{folder} must be the checkpoint of step {step!r}: it was renamed")


def restore_best(run: Path, checkpoints: Checkpoints, state: TrainingState) -> None:
    """Put the best weights of a state back into the run folder, if later ones replaced them there.

    A run that ends validates its last step. If it is continued to a later end, that validation is not repeated unless
    it is due, and its weights must not be taken for the best ones.

    Raises:
        CheckpointError: If the checkpoint of the best weights is missing or damaged.
        ResourceError: If the disk is full or fails.
    """
    exported = Manifest.read(run).facts.get("step")
    if exported == state.step != state.best_step and state.best_loss is not None:
        facts = {"step": state.best_step, "validation_loss": state.best_loss}
        export(run, load_checkpoint(checkpoints.path(state.best_step)).weights, facts)
