"""Checkpoints of a training of several processes, written in the background (torch.distributed.checkpoint).

A save copies the tensors to memory and returns; threads write the shards while the next updates are computed. Process 0
writes the manifest when all shards are on the disk, and renames the folder, so that a kill at any moment leaves the
checkpoints before it. Replicated tensors are divided among the processes, and sharded ones are written where they are.
"""

import shutil
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import async_save

from sumpool.io.atomic import disk_errors, move_into_place, require_space, temporary_path
from sumpool.io.manifest import MODEL, FileDigest
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.checkpoint_files import OPTIMIZER, PREFIXES, Checkpoint, describe
from sumpool.training.checkpoint_shards import CheckpointWriter
from sumpool.training.distributed import TIMEOUT, Processes
from sumpool.training.sharded_tensors import is_sharded_tensor
from sumpool.training.shares import divide


class ShardedCheckpoints(Checkpoints):
    """Checkpoints that the processes of a training write together."""

    def __init__(self, folder: Path, keep: int, processes: Processes) -> None:
        """Open a folder, which need not exist; all processes must do so.

        Args:
            folder: Folder of the checkpoints.
            keep: Number of newest checkpoints to keep.
            processes: The processes.
        """
        super().__init__(folder, keep)
        self._processes = processes
        # Collectives of the threads must not come between those of the training.
        self._group = dist.new_group(backend="gloo", timeout=TIMEOUT)
        has_gpu = torch.cuda.is_available()
        # Kept, as it writes into the memory of the copy before.
        self._stager = DefaultStager(StagingOptions(has_gpu, False, False, has_gpu))
        self._pending: tuple[Path, Future[Any]] | None = None

    def save_and_prune(self, step: int, checkpoint: Checkpoint, best_step: int) -> None:
        """Copy the tensors and begin to write the checkpoint of a step; all processes must call this.

        Args:
            step: The step.
            checkpoint: Its tensors: whole ones, or the parts of this process.
            best_step: Step with the best validation loss.

        Raises:
            ResourceError: If the disk is full or fails, at this or the checkpoint before.
        """
        self.wait()
        tensors = {
            **{PREFIXES[MODEL] + name: tensor for name, tensor in checkpoint.weights.items()},
            **{PREFIXES[OPTIMIZER] + name: tensor for name, tensor in checkpoint.moments.items()},
        }
        tensors = dict(sorted(tensors.items()))  # those of a resumed run have another order
        if not self._processes.from_main(lambda: self._begin(step, sum(tensor.nbytes for tensor in tensors.values()))):
            return
        share = _share_of(tensors, self._processes)
        complete = partial(self._complete, step, checkpoint.state, best_step)
        writer = CheckpointWriter(temporary_path(self.path(step)), complete)
        future = async_save(share, storage_writer=writer, async_stager=self._stager, process_group=self._group)
        assert isinstance(future, Future)
        self._pending = self.path(step), future

    def wait(self) -> None:
        """Wait until the checkpoint that is being written is complete, in all processes.

        Raises:
            ResourceError: If the disk is full or fails; the other checkpoints are as they were.
        """
        if not self._pending:
            return
        (target, future), self._pending = self._pending, None
        try:
            future.result()
        except CheckpointException as error:
            if self._processes.is_main:
                shutil.rmtree(temporary_path(target), ignore_errors=True)
            failure, _ = error.failures[min(error.failures)]
            with disk_errors(target):
                raise failure from error

    def _begin(self, step: int, size: int) -> bool:
        """Make the temporary folder of a step; return whether it has no intact checkpoint."""
        if not self.discard_damaged(step):
            return False
        folder = temporary_path(self.path(step))
        with disk_errors(self.path(step)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            require_space(folder, size)
        return True

    def _complete(self, step: int, state: Mapping[str, Any], best_step: int, shards: Mapping[str, FileDigest]) -> None:
        """Describe the files of a checkpoint, rename it into place, and delete outdated ones."""
        folder = temporary_path(self.path(step))
        describe(folder, step, state, shards)
        move_into_place(folder, self.path(step))
        self.prune(step, best_step)


def _share_of(tensors: Mapping[str, Tensor], processes: Processes) -> dict[str, Tensor]:
    """Return the tensors that a process writes: all of which it holds a part, and its share of the replicated ones."""
    replicated = [name for name, tensor in tensors.items() if not is_sharded_tensor(tensor)]
    places = divide([tensors[name].nbytes for name in replicated], processes.size)[processes.rank]
    share = {replicated[place] for place in places}
    return {name: tensor for name, tensor in tensors.items() if is_sharded_tensor(tensor) or name in share}
