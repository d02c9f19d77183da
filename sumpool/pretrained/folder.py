"""Files of a pretrained model: JSON and safetensors, in one file or several; pickles are refused."""

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sumpool.errors import CheckpointError
from sumpool.io import bounded

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_PREFIX = re.compile(r"^(model|led)\.")
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.bin")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        CheckpointError: If the file is missing, damaged or holds anything else.
    """
    return bounded.read_json(path, CheckpointError, "download it again")


class Tensors:
    """Tensors of a folder by name, each read when it is taken, so that the model is never in memory twice.

    Names are those within the bare model; files that include a language head have an additional prefix.
    """

    def __init__(self, folder: Path) -> None:
        """Open `model.safetensors` of a folder, or the parts that its index lists.

        Raises:
            CheckpointError: If there are none, they are pickles, or a file is damaged.
        """
        self.folder = folder
        self._files: dict[str, tuple[Any, str]] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for path in _weight_files(folder):
            try:
                header = bounded.read_tensor_entries(path)
                file: Any = safe_open(path, framework="pt")
            except (OSError, ValueError, SafetensorError) as error:
                raise CheckpointError(f"{path} must be a safetensors file, got: {error}; download it again") from error
            self._shapes |= {_PREFIX.sub("", name): entry.shape for name, entry in header.items()}
            self._files |= {_PREFIX.sub("", name): (file, name) for name in file.keys()}  # noqa: SIM118 - no mapping

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self) -> list[str]:
        """Names of the tensors that are not taken yet."""
        return sorted(self._files)

    def require(self, name: str, shape: tuple[int, ...]) -> None:
        """Check the shape of a tensor by the header of its file, without reading it.

        Raises:
            CheckpointError: If it is missing or of another shape.
        """
        if name not in self._files:
            raise CheckpointError(f"{self.folder} must hold the tensor {name} {shape}, but it is missing")
        if self._shapes[name] != shape:
            label = f"{self.folder}: {self._files[name][1]}"
            raise CheckpointError(f"{label} must be {shape}, as config.json has it, got {self._shapes[name]}")

    def take(self, name: str, shape: tuple[int, ...], *, allow_minus_inf: bool = False) -> Tensor:
        """Read a tensor as float32 and remove its name.

        Args:
            name: Name of the tensor.
            shape: Required shape.
            allow_minus_inf: Whether -inf is allowed, the bias of a token that is never generated.

        Raises:
            CheckpointError: If it is missing, damaged, of another shape, or not finite.
        """
        self.require(name, shape)
        file, full_name = self._files.pop(name)
        label = f"{self.folder}: {full_name}"
        try:
            tensor: Tensor = file.get_tensor(full_name)
        except (OSError, SafetensorError, ValueError) as error:
            raise CheckpointError(f"{label} must be readable, got: {error}; download it again") from error
        if tensor.dtype not in _FLOATS:
            raise CheckpointError(f"{label} must be of floating point, got {tensor.dtype}; take weights not quantised")
        tensor = tensor.to(torch.float32)
        if not (tensor.isfinite() | (tensor.isneginf() & allow_minus_inf)).all():
            raise CheckpointError(f"{label} must hold finite numbers, got others; download it again")
        return tensor


def _weight_files(folder: Path) -> list[Path]:
    """Return the files with weights, in order."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    index = folder / INDEX
    if index.is_file():
        parts = read_json(index).get("weight_map")
        names = set(parts.values()) if isinstance(parts, dict) else set()
        if not names or not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise CheckpointError(f"{index} must map the tensors to files beside it, got {parts!r:.60}")
        return [folder / name for name in sorted(names)]
    pickles = [name for name in _PICKLES if (folder / name).is_file()]
    if pickles:
        raise CheckpointError(
            f"{folder} must hold {WEIGHTS}, got {pickles[0]}, a pickle, which could run anything: convert it where you "
            f"trust it, with transformers' AutoModelForSeq2SeqLM and AutoTokenizer.from_pretrained(...)"
            ".save_pretrained(...)"
        )
    raise CheckpointError(f"{folder} must hold {WEIGHTS}, or {INDEX} and its parts, got neither")
