"""Checkpoints of a run.

A checkpoint is filled under a temporary name, flushed, and renamed into place once; nothing ever writes into a finished
one. It holds the state of the run after a step and before the validation that may follow.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from torch import Tensor

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
from sumpool.io.manifest import MODEL, FileDigest, Manifest
from sumpool.progress import Progress, Report, no_op
from sumpool.training.checkpoint_files import OPTIMIZER, Checkpoint, describe, load_checkpoint, load_finite, verify
from sumpool.training.state import TrainingState
from sumpool.training.weights import export_tensors, save_tensors


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
        """Remove incomplete checkpoints that a crash left, unless the folder is a link.

        Raises:
            ResourceError: If the disk fails.
        """
        with disk_errors(self.folder):
            if not self.folder.is_symlink():
                remove_temporary(self.folder)

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        """Write the checkpoint of a step, unless an intact one exists: a step always leads to the same bytes.

        Raises:
            ResourceError: If the disk is full or fails; the other checkpoints are as they were.
        """
        if not self.discard_damaged(step):
            return
        target = self.path(step)
        with disk_errors(target), replace_folder(target) as folder:
            tensors = [*checkpoint.weights.values(), *checkpoint.moments.values()]
            require_space(folder, sum(tensor.nbytes for tensor in tensors))
            save_tensors(checkpoint.weights, folder / MODEL)
            save_tensors(checkpoint.moments, folder / OPTIMIZER)
            describe(
                folder, step, checkpoint.state, {name: FileDigest.of(folder / name) for name in (MODEL, OPTIMIZER)}
            )

    def discard_damaged(self, step: int) -> bool:
        """Delete the checkpoint of a step unless it is intact.

        Returns:
            Whether the step has no checkpoint now.

        Raises:
            ResourceError: If the disk fails.
        """
        target = self.path(step)
        if target.exists() or target.is_symlink():
            with suppress(CheckpointError):
                verify(target)
                return False
            with disk_errors(target):
                self._discard(target)
        return True

    def save_and_prune(self, step: int, checkpoint: Checkpoint, best_step: int) -> None:
        """Save the checkpoint of a step and delete outdated ones, as `save` and `prune` do."""
        self.save(step, checkpoint)
        self.prune(step, best_step)

    def wait(self) -> None:
        """Wait until the last checkpoint is complete, which it is when one process has saved it."""

    def prune(self, step: int, best_step: int) -> None:
        """Delete checkpoints that are neither among the newest nor the best, once the newest is verified.

        Links are not followed: of a checkpoint that is a link, the link is deleted, and a folder of checkpoints that is
        a link keeps all.

        Args:
            step: Step of the newest intact checkpoint; later ones are damaged, or the run would have resumed from them.
            best_step: Step with the best validation loss.

        Raises:
            CheckpointError: If the newest checkpoint is damaged.
            ResourceError: If the disk fails.
        """
        verify(self.path(step))
        if self.folder.is_symlink():
            return
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

    def read_weights(self, step: int) -> Mapping[str, Tensor]:
        """Read the weights of a step's checkpoint.

        Raises:
            CheckpointError: If the checkpoint is missing or damaged.
        """
        return load_finite(self.path(step), MODEL, is_sharded=verify(self.path(step)))

    def _discard(self, path: Path) -> None:
        """Delete a checkpoint so that a crash on the way leaves none that looks intact."""
        rename_synced(path, temporary_path(path))
        remove(temporary_path(path))


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
        export_tensors(run, checkpoints.read_weights(state.best_step), facts)
