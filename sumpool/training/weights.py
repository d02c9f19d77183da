"""Weights of a model by name, shared tensors once, and the file of a run folder that holds them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from sumpool.errors import CheckpointError
from sumpool.io.atomic import counted, disk_errors, temporary_path
from sumpool.io.bounded import check_tensor_header, open_regular
from sumpool.io.manifest import MODEL, FileDigest, Manifest

Model = TypeVar("Model", bound=nn.Module)
IMITATION = "imitation"
"""Module that a training by layers of a teacher adds to a model, which is trained but not exported."""


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """State dict without duplicates: a shared tensor has its first name only."""
    first_names: dict[int, str] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first_names.setdefault(id(tensor), name)
    state = model.state_dict()
    return {name: state[name].contiguous() for name in first_names.values()}


def set_weights(model: nn.Module, saved: Mapping[str, Tensor], origin: str) -> None:
    """Copy saved weights into a model.

    Args:
        model: Model of the same configuration.
        saved: Result of `weights_of`.
        origin: Source of the weights, for the error.

    Raises:
        CheckpointError: If names, shapes or types differ; the model is then unchanged.
    """
    weights = weights_of(model)
    compare_weights(weights, saved, "this model", origin)
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(saved[name])


def needed_weights(model: nn.Module, saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Saved weights whose names exist in the model."""
    return {name: saved[name] for name in weights_of(model) if name in saved}


def export(run: Path, model: nn.Module | Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Save a model's weights as those of a run folder; after a crash at any moment the folder still loads.

    Args:
        run: The run folder, with a manifest.
        model: The model, or its weights by name.
        facts: Facts about these weights for the manifest, as JSON.

    Raises:
        ResourceError: If the disk is full or fails; the folder is as it was.
        CheckpointError: If the manifest is broken.
    """
    from sumpool.io.replaceable import replace_listed_file  # as loading does not need it

    path = run / MODEL
    weights = weights_of(model) if isinstance(model, nn.Module) else model
    weights = {name: weight for name, weight in weights.items() if not name.startswith(f"{IMITATION}.")}
    with disk_errors(path):
        save_tensors(weights, temporary_path(path))
        replace_listed_file(path, facts)


def load_weights(
    run: Path,
    build: Callable[[], Model],
    *,
    leave_out: bool = False,
    manifest: Manifest | None = None,
    verified: Collection[str] = (),
) -> Model:
    """Build a model with the best weights of a run, after verifying every file in the run folder's manifest.

    Args:
        run: The run folder.
        build: Builds a model from the folder's recipe; called on the meta device first, so that a recipe of other sizes
            than the weights takes no memory.
        leave_out: Whether to ignore weights of modules that the model does not have.
        manifest: See `read_weights`.
        verified: See `read_weights`.

    Raises:
        CheckpointError: If a file is missing, damaged, or belongs to another model, or a weight is not finite.
    """
    weights, origin = read_weights(run, manifest, verified), str(run / MODEL)
    with torch.device("meta"):
        shapes = build()
    if leave_out:
        weights = needed_weights(shapes, weights)
    compare_weights(weights_of(shapes), weights, "this model", origin)
    model = build()
    set_weights(model, weights, origin)
    for name, parameter in model.named_parameters():
        if not parameter.sum(dtype=torch.float64).isfinite():  # a tenth of the time of looking at each
            raise CheckpointError(f"{origin} must hold finite weights, got others in {name}; train again")
    return model


def read_weights(run: Path, manifest: Manifest | None = None, verified: Collection[str] = ()) -> dict[str, Tensor]:
    """Read the best weights of a run, after verifying every file in the run folder's manifest.

    Args:
        run: The run folder.
        manifest: Its manifest; None reads it.
        verified: Files that have been compared with this manifest.

    Returns:
        The weights by name, in single precision.

    Raises:
        CheckpointError: If a file is missing or damaged.
    """
    path = run / MODEL
    manifest = manifest or Manifest.read(run)
    try:
        with open_regular(path) as file:
            content = file.read()
    except OSError as error:
        raise CheckpointError(f"{path} must be readable, got: {error}") from error
    digest = FileDigest.of_bytes(content)
    if digest not in manifest.accepted(MODEL):
        # A training run may have replaced the weights between the two reads.
        manifest, verified = Manifest.read(run), ()
    manifest.verify(run, manifest.files.keys() - {MODEL, *verified})
    manifest.compare(path, MODEL, digest)
    with _safetensors(path):
        check_tensor_header(content)
        weights = safetensors.torch.load(content)
    return {name: weight.float() if weight.dtype == torch.bfloat16 else weight for name, weight in weights.items()}


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file, mapped into memory.

    Raises:
        CheckpointError: If the file is missing or is anything else.
    """
    with _safetensors(path):
        check_tensor_header(path)
        tensors: dict[str, Tensor] = safetensors.torch.load_file(path)
    return tensors


@contextmanager
def _safetensors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise CheckpointError(f"{path} must be a safetensors file, got: {error}; train again") from error


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file with the permissions of the other files of a run."""
    with counted(path, sum(tensor.nbytes for tensor in tensors.values())):
        path.touch()
        mode = path.stat().st_mode  # of new files of this user
        safetensors.torch.save_file(dict(tensors), path, metadata)
        path.chmod(mode)  # safetensors lets only the owner read


def compare_weights(expected: Mapping[str, Tensor], got: Mapping[str, Tensor], target: str, origin: str) -> None:
    """Check that weights have the names, shapes and types of others.

    Args:
        expected: The other weights.
        got: The weights.
        target: What the others belong to, for the error.
        origin: Source of the weights, for the error.

    Raises:
        CheckpointError: If they have not.
    """
    for name in sorted(expected.keys() | got.keys()):
        required, actual = (_describe(tensors.get(name)) for tensors in (expected, got))
        if required != actual:
            raise CheckpointError(f"{origin}: {name} must be {required} in {target}, got {actual}")


def _describe(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
