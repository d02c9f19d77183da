"""The `config.json` of another model, and the settings that make ours the same function.

BART (Lewis et al., 2020) and LED (Beltagy et al., 2020) are post-norm encoder-decoders with learned positions, a norm
over the embeddings and one matrix for embedding and output; they differ in the encoder's attention alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sumpool.core.model.config import ModelConfig
from sumpool.errors import CheckpointError, RecipeError
from sumpool.pretrained.folder import read_json
from sumpool.pretrained.generation import GenerationSettings, read_generation

CONFIG = "config.json"


class PretrainedConfig(BaseModel):
    """What has to be known of another model, under the names of its own file; what a file leaves out is as in BART."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, protected_namespaces=())

    model_type: Literal["bart", "led"]
    vocab_size: int = Field(ge=1)
    d_model: int
    encoder_layers: int = Field(ge=1)
    decoder_layers: int = Field(ge=1)
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    activation_function: Literal["relu", "gelu"] = "gelu"
    scale_embedding: bool = False
    tie_word_embeddings: Literal[True] = True
    dropout: float = 0.1
    pad_token_id: int = Field(1, ge=0)
    eos_token_id: int = Field(2, ge=0)
    decoder_start_token_id: int = Field(2, ge=0)
    max_position_embeddings: int = Field(1024, ge=1)
    """Positions of BART, in encoder and decoder."""
    max_encoder_position_embeddings: int = Field(16384, ge=1)
    """Positions of LED's encoder."""
    max_decoder_position_embeddings: int = Field(1024, ge=1)
    """Positions of LED's decoder."""
    attention_window: int | list[int] = 512
    """Places that LED's tokens see beside their own: of all layers, or of each."""
    generation: GenerationSettings
    """How it writes."""

    @property
    def source_length(self) -> int:
        """Positions of the encoder."""
        return self.max_position_embeddings if self.model_type == "bart" else self.max_encoder_position_embeddings

    @property
    def target_length(self) -> int:
        """Positions of the decoder."""
        return self.max_position_embeddings if self.model_type == "bart" else self.max_decoder_position_embeddings


@dataclass(frozen=True)
class ImportOptions:
    """How the imported model is to differ from the original.

    Attributes:
        attention: The encoder's: as it was, or another one that has the same projections.
        window: Tokens of a block, or places that a token sees beside its own; None where attention is kept.
        positions: Tokens that the encoder reads; None where they are kept.
        extend: How positions beyond the learned ones come about, see `sumpool.pretrained.positions`.
    """

    attention: Literal["keep", "sliding_window", "blockwise"] = "keep"
    window: int | None = None
    positions: int | None = None
    extend: Literal["repeat", "flip"] = "repeat"


def read_config(folder: Path) -> PretrainedConfig:
    """Read and check `config.json`.

    Raises:
        CheckpointError: If it is missing, damaged, or of a model that ours cannot be.
    """
    path = folder / CONFIG
    tree = {name: value for name, value in read_json(path).items() if value is not None}
    generation = read_generation(folder, tree)
    start = {name: generation[name] for name in ("decoder_start_token_id",) if name in generation}
    tree = {**tree, **start, "generation": generation}
    try:
        original = PretrainedConfig.model_validate(tree)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {describe(error)}") from error
    for name in ("attention_heads", "ffn_dim"):
        encoder, decoder = (getattr(original, f"{half}_{name}") for half in ("encoder", "decoder"))
        if encoder != decoder:
            raise CheckpointError(f"{path}: decoder_{name} must be as encoder_{name} = {encoder}, got {decoder}")
    _check_pieces(original, path)
    return original


def _check_pieces(original: PretrainedConfig, path: Path) -> None:
    generation = original.generation
    named = {
        "pad_token_id": original.pad_token_id,
        "eos_token_id": original.eos_token_id,
        "decoder_start_token_id": original.decoder_start_token_id,
        "forced_bos_token_id": generation.forced_bos_token_id,
    }
    for name, number in named.items():
        if number is not None and number >= original.vocab_size:
            raise CheckpointError(f"{path}: {name} must be below vocab_size = {original.vocab_size}, got {number}")
    if generation.forced_eos_token_id not in (None, original.eos_token_id):
        raise CheckpointError(
            f"{path}: forced_eos_token_id must be eos_token_id = {original.eos_token_id}, "
            f"got {generation.forced_eos_token_id}"
        )


def to_model_config(original: PretrainedConfig, changes: ImportOptions, origin: Path) -> ModelConfig:
    """Say which model of ours computes what the original does, but for the changes.

    Args:
        original: What `read_config` gave.
        changes: What is to differ.
        origin: Its folder, for the errors.

    Raises:
        RecipeError: If the changes contradict each other or the original.
        CheckpointError: If there is no such model.
    """
    attentions = _attentions(original, changes)
    tree = {
        "dim": original.d_model,
        "heads": original.encoder_attention_heads,
        "feed_forward": original.encoder_ffn_dim,
        "activation": original.activation_function,
        "positions": "learned",
        "scale_embedding": original.scale_embedding and original.model_type == "bart",
        "embedding_norm": True,
        "norm": "post",
        "dropout": original.dropout,
        "source_length": changes.positions or original.source_length,
        "target_length": original.target_length,
        "encoder": [{"attention": attention} for attention in attentions],
        "decoder": {"layers": original.decoder_layers, "positions": "learned"},
        "output": {"kind": "tied", "bias": True},
    }
    try:
        return ModelConfig.model_validate(tree)
    except ValidationError as error:
        raise CheckpointError(f"{origin / CONFIG} must be of a model that sumpool has: {describe(error)}") from error


def _attentions(original: PretrainedConfig, changes: ImportOptions) -> list[Mapping[str, Any]]:
    """Give the settings of each encoder layer's attention."""
    kind, window = changes.attention, changes.window
    if (kind == "keep") != (window is None):
        raise RecipeError(
            f"--window must come with --attention sliding_window or blockwise, and they with it, got --attention {kind}"
            f" and {'no --window' if window is None else f'--window {window}'}"
        )
    if kind == "sliding_window" and window is not None and window % 2:
        raise RecipeError(f"--window must be even for sliding_window, one half on either side, got {window}")
    if original.model_type == "bart":
        width = {"sliding_window": "window", "blockwise": "block"}
        one = {"kind": "vanilla"} if kind == "keep" else {"kind": kind, width[kind]: window}
        return [one] * original.encoder_layers
    if kind == "blockwise":
        raise RecipeError(
            "--attention must be keep or sliding_window for LED, got blockwise: what its first token has learnt to see "
            "would be lost"
        )
    windows = original.attention_window if window is None else window
    listed = [windows] * original.encoder_layers if isinstance(windows, int) else windows
    if len(listed) != original.encoder_layers:
        raise CheckpointError(
            f"{CONFIG}: attention_window must have {original.encoder_layers} entries, one for each layer, "
            f"got {len(listed)}"
        )
    return [{"kind": "sliding_window", "window": each, "global_first": True} for each in listed]


def describe(error: ValidationError) -> str:
    """Say the first thing that is wrong in another model's settings."""
    first = error.errors()[0]
    path = ".".join(map(str, first["loc"]))
    match first["type"]:
        case "missing":
            return f"{path} must be there, got nothing"
        case "value_error":  # a sentence already
            return f"{path}: {first['ctx']['error']}".removeprefix(": ")
    rule = re.sub(r"^Input should be (a valid )?", "", first["msg"])
    return f"{path} must be {rule}, got {first['input']!r}"
