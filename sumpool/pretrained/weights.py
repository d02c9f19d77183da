"""Weights of a pretrained model under the names of `SummarizationModel`.

Queries, keys and values become one matrix. The rows that BART never looks up before its positions are left out.
Positions that a file lacks, because they are sinusoidal, are computed.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import SkipInit
from sumpool.errors import CheckpointError
from sumpool.io import bounded
from sumpool.pretrained.config import PretrainedConfig, read_json
from sumpool.special_tokens import SpecialTokens
from sumpool.training.weights import set_weights

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_PREFIX = re.compile(r"^(model|led)\.")
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.bin")

Extension = Literal["repeat", "flip", "last"]
"""Learned positions beyond those of the original; the first ones stay, so that nothing changes for shorter documents.

repeat  The learned positions again from the first, as LED was made from BART (Beltagy et al., 2020). Copies meet in a
        jump.
flip    Every second copy in reverse order, as in LoBART (Manakul and Gales, 2021): no jump, but the positions on either
        side of a seam are equal.
last    The last learned position again and again, as in the code of HEPOS (Huang et al., 2021).
"""
_EMBEDDING = ("shared.weight", "lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
"""Names of the matrix of embedding and output; a file contains it under one or more of them."""
_HALVES = ("encoder", "decoder")
_MAX_COMPUTED_POSITIONS = 1 << 17
"""Maximum number of computed positions, which no tensor of the file confirms."""


def load_pretrained(
    folder: Path, pretrained: PretrainedConfig, config: ModelConfig, special_tokens: SpecialTokens, extend: Extension
) -> SummarizationModel:
    """Build a model with the weights of a pretrained one of the same sizes.

    Raises:
        CheckpointError: If weights are missing, damaged or of another model.
    """
    weights = convert_weights(Tensors(folder), pretrained, config, extend)
    with torch.device("meta"), SkipInit():  # random weights would be overwritten
        model = SummarizationModel(config, pretrained.vocab_size, special_tokens=special_tokens)
    model.to_empty(device="cpu")
    set_weights(model, weights, str(folder))
    return model


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
        self._files: dict[str, tuple[Any, str, tuple[int, ...]]] = {}  # file, name there and shape
        for path in _weight_files(folder):
            try:
                bounded.check_tensor_header(path)
                file: Any = safe_open(path, framework="pt")
                shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            except (OSError, ValueError, SafetensorError) as error:
                raise CheckpointError(f"{path} must be a safetensors file, got: {error}; download it again") from error
            self._files |= {_PREFIX.sub("", name): (file, name, shape) for name, shape in shapes.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self) -> list[str]:
        """Return the sorted names of the tensors that are not taken yet."""
        return sorted(self._files)

    def require(self, name: str, shape: tuple[int, ...]) -> None:
        """Check the shape of a tensor by the header of its file, without reading it.

        Raises:
            CheckpointError: If it is missing or of another shape.
        """
        if name not in self._files:
            raise CheckpointError(f"{self.folder} must hold the tensor {name} {shape}, but it is missing")
        _, label, found = self._files[name]
        if found != shape:
            raise CheckpointError(f"{self.folder}: {label} must be {shape}, as config.json has it, got {found}")

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
        file, full_name, _ = self._files.pop(name)
        label = f"{self.folder}: {full_name}"
        try:
            tensor: Tensor = file.get_tensor(full_name)
        except (OSError, SafetensorError, ValueError) as error:
            raise CheckpointError(f"{label} must be readable, got: {error}; download it again") from error
        if tensor.dtype not in _FLOATS:
            raise CheckpointError(f"{label} must be of floating point, got {tensor.dtype}; take unquantised weights")
        tensor = tensor.to(torch.float32)
        if not (tensor.isfinite() | (tensor.isneginf() & allow_minus_inf)).all():
            raise CheckpointError(f"{label} must hold finite numbers, got others; download it again")
        return tensor


def convert_weights(
    tensors: Tensors, pretrained: PretrainedConfig, model: ModelConfig, extension: Extension
) -> dict[str, Tensor]:
    """Convert the weights to those of a model of the same sizes, and require that no tensor is left over.

    Returns:
        Tensors by the names of `sumpool.training.weights.weights_of`, in float32.

    Raises:
        CheckpointError: If a tensor is missing, left over, of another shape or not finite, or embedding and output are
            not one matrix.
    """
    shape: tuple[int, ...] = pretrained.vocab_size, pretrained.d_model
    first, *others = [name for name in _EMBEDDING if name in tensors] or _EMBEDDING[:1]
    weights = {"embedding.weight": tensors.take(first, shape)}
    for name in others:
        if not torch.equal(tensors.take(name, shape), weights["embedding.weight"]):
            raise CheckpointError(f"{tensors.folder}: {name} must be the same matrix as {first}, got another")
    bias = torch.zeros(1, pretrained.vocab_size)
    if "final_logits_bias" in tensors:
        bias = tensors.take("final_logits_bias", (1, pretrained.vocab_size), allow_minus_inf=True)
    weights["output.bias"] = bias[0]
    for half, length in zip(_HALVES, (model.source_length, model.target_length), strict=True):
        name, shape = _positions_entry(pretrained, half)
        if pretrained.family.positions == "learned":
            learned = tensors.take(name, shape)[pretrained.family.unused_positions :]
            positions = extend_positions(learned, length, extension)
        else:  # sinusoidal ones continue beyond those of the file
            positions = sinusoidal_positions(length, pretrained.d_model)
            if name in tensors:
                stored = tensors.take(name, shape)[:length]
                positions = torch.cat([stored, positions[len(stored) :]])
        weights[f"{half}.embed.positions.weight"] = positions
    for name, sources in _sources(pretrained):
        weights[name] = torch.cat([tensors.take(source, shape) for source, shape in sources])
    left = tensors.names()
    if left:
        raise CheckpointError(
            f"{tensors.folder} must hold the weights of {pretrained.family.name} with its language head and no "
            f"others, got {left[0]}{f' and {len(left) - 1} more' if left[1:] else ''}"
        )
    return weights


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


def _positions_entry(pretrained: PretrainedConfig, half: str) -> tuple[str, tuple[int, ...]]:
    """Return name and shape of the position embeddings of the encoder or the decoder."""
    length = pretrained.source_length if half == "encoder" else pretrained.target_length
    return f"{half}.embed_positions.weight", (pretrained.family.unused_positions + length, pretrained.d_model)


def extend_positions(learned: Tensor, length: int, extension: Extension) -> Tensor:
    """Extend or truncate position embeddings.

    Args:
        learned: (positions, dim).
        length: Number of positions to return; the first ones if there are more.
        extension: How further positions are made.

    Returns:
        (length, dim).
    """
    positions = torch.arange(length, device=learned.device)
    copy, index = positions // len(learned), positions % len(learned)
    if extension == "flip":
        index = torch.where(copy % 2 == 1, len(learned) - 1 - index, index)
    elif extension == "last":
        index = positions.clamp(max=len(learned) - 1)
    return learned[index]


def sinusoidal_positions(length: int, dim: int) -> Tensor:
    """Compute the positions of PEGASUS and Marian: sines in the first half, cosines in the second.

    Returns:
        (length, dim), float32.
    """
    half = dim // 2
    decay = 10000.0 ** -(torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * decay  # (length, half)
    return torch.cat([angle.sin(), angle.cos()], dim=-1).to(torch.float32)


def _sources(pretrained: PretrainedConfig) -> Iterator[tuple[str, list[tuple[str, tuple[int, ...]]]]]:
    """Iterate over the weights of layers and norms, with name and shape of the tensors that each concatenates."""
    dim, wide = pretrained.d_model, pretrained.encoder_ffn_dim
    shapes: dict[str, tuple[int, ...]] = {"fc1": (wide, dim), "fc2": (dim, wide)}

    def shape_of(source: str) -> tuple[int, ...]:
        *_, part, kind = source.split(".")
        shape = (dim,) if "norm" in part else shapes.get(part, (dim, dim))
        return shape if kind == "weight" else shape[:1]

    for half, layers in zip(_HALVES, (pretrained.encoder_layers, pretrained.decoder_layers), strict=True):
        for name, sources in pretrained.family.weights(half, layers):
            yield name, [(source, shape_of(source)) for source in sources]


def check_shapes(tensors: Tensors, pretrained: PretrainedConfig) -> None:
    """Compare the sizes in `config.json` with the headers of the weights, before anything of these sizes is made.

    Raises:
        CheckpointError: If a tensor is missing or of another shape.
    """
    embedding = next((name for name in _EMBEDDING if name in tensors), _EMBEDDING[0])
    tensors.require(embedding, (pretrained.vocab_size, pretrained.d_model))
    for half in _HALVES:
        name, shape = _positions_entry(pretrained, half)
        if name in tensors or pretrained.family.positions == "learned":
            tensors.require(name, shape)
        elif shape[0] > _MAX_COMPUTED_POSITIONS:
            raise CheckpointError(
                f"{tensors.folder}: max_position_embeddings must be at most {_MAX_COMPUTED_POSITIONS:,} without a "
                f"tensor {name}, got {shape[0]:,}; correct config.json"
            )
    for _, sources in _sources(pretrained):
        for name, shape in sources:
            tensors.require(name, shape)
