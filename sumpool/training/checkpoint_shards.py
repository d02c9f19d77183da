"""Files of a checkpoint that several processes write together: shards, one for each process.

A shard is a safetensors file of whole tensors and of slices, whose offsets are in its metadata, in the format of
PyTorch's `HuggingFaceStorageWriter`. This module imports torch.distributed.
"""

import json
import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from sumpool.errors import CheckpointError
from sumpool.io.atomic import sync
from sumpool.io.bounded import read_tensor_entries
from sumpool.io.manifest import FileDigest
from sumpool.training.weights import save_tensors

_OFFSETS = "DCP_SHARDING_INFO"
"""Name of the metadata in which PyTorch's reader looks for the offsets of slices."""


class CheckpointWriter(HuggingFaceStorageWriter):
    """Writer of the shard of this process."""

    def __init__(self, folder: Path, complete: Callable[[Mapping[str, FileDigest]], None]) -> None:
        """Open a folder, which must exist.

        Args:
            folder: Folder that all processes write into.
            complete: Called by process 0 with the digests of all shards, when they are on the disk.
        """
        super().__init__(str(folder), save_distributed=True)
        self._folder = folder
        self._complete = complete

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the shard, and send its digest to process 0.

        That of the base class has several entries of metadata, whose order in the file changes from one save to the
        next, and holds the file in memory a second time.
        """
        tensors, offsets = {}, {}
        for item in plan.items:
            tensor = planner.resolve_data(item)
            assert isinstance(tensor, Tensor)
            assert item.tensor_data
            tensors[item.index.fqn] = tensor.contiguous()
            offsets[item.index.fqn] = {"saved_offsets": list(item.tensor_data.chunk.offsets)}
        results = []
        if tensors:
            path = self._folder / f"shard-{plan.storage_data['shard_index']:05d}.safetensors"
            save_tensors(tensors, path, {_OFFSETS: json.dumps(offsets, sort_keys=True)})
            sync(path)
            digest = FileDigest.of(path)
            results.append(WriteResult(plan.items[0].index, digest.size, (path.name, digest)))
        written: Future[list[WriteResult]] = Future()
        written.set_result(results)
        return written

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Complete the checkpoint; called by process 0 after all have written."""
        del metadata
        self._complete(dict(result.storage_data for written in results for result in written))


def read_shards(folder: Path, prefix: str = "") -> dict[str, Tensor]:
    """Read whole tensors from all shards in a folder.

    Args:
        folder: The folder, whose safetensors files are shards.
        prefix: Beginning of the names of the tensors to read, which is removed.

    Raises:
        CheckpointError: If a file is no shard, or the shards lack a part of a tensor.
    """
    reader = HuggingFaceStorageReader(str(folder))
    try:
        for path in folder.glob("*.safetensors"):
            read_tensor_entries(path)
        described = reader.read_metadata().state_dict_metadata
        tensors = {name: _empty(name, entry) for name, entry in described.items() if name.startswith(prefix)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that one process reads, as it is meant to
            load(tensors, storage_reader=reader, no_dist=True)
    except (OSError, ValueError, LookupError, TypeError, RuntimeError, SafetensorError, CheckpointException) as error:
        message = f"{folder} must hold the shards of a checkpoint, got: {str(error).strip():.200}; train again"
        raise CheckpointError(message) from error
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}


def _empty(name: str, entry: object) -> Tensor:
    """Make a tensor to read into.

    Raises:
        ValueError: If the shards lack a part of it.
    """
    assert isinstance(entry, TensorStorageMetadata)
    if sum(math.prod(chunk.sizes) for chunk in entry.chunks) != math.prod(entry.size):
        raise ValueError(f"only a part of {name}")
    return torch.empty(entry.size, dtype=entry.properties.dtype)
