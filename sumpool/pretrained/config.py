"""`config.json` of a pretrained model, and the `ModelConfig` of the same function.

Sinusoidal positions become a table of learned ones: the frequencies of transformers are 10000 ** (-i / n) for n pairs
of features, and those of `sumpool.core.nn.positions` 10000 ** (-i / (n - 1)).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sumpool.core.model.config import ModelConfig
from sumpool.errors import CheckpointError, RecipeError
from sumpool.pretrained.families import FAMILIES, UNSUPPORTED, Family, FamilyName
from sumpool.pretrained.folder import read_json
from sumpool.pretrained.generation import GenerationSettings, read_generation
from sumpool.settings import first_problem

CONFIG = "config.json"
_ALIASES = {"swish": "silu"}
"""Other names of activations."""


class PretrainedConfig(BaseModel):
    """Fields of `config.json`; defaults that differ by family are in `Family.defaults`."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, protected_namespaces=())

    model_type: FamilyName
    vocab_size: int = Field(ge=1)
    d_model: int
    encoder_layers: int = Field(ge=1)
    decoder_layers: int = Field(ge=1)
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    activation_function: Literal["relu", "gelu", "silu", "swish"] = "gelu"
    scale_embedding: bool = False
    tie_word_embeddings: Literal[True] = True
    share_encoder_decoder_embeddings: Literal[True] = True
    """Whether a Marian has one vocabulary for documents and summaries."""
    dropout: float = 0.1
    pad_token_id: int = Field(ge=0)
    eos_token_id: int = Field(ge=0)
    decoder_start_token_id: int = Field(ge=0)
    max_position_embeddings: int = Field(1024, ge=1)
    """Positions of encoder and decoder, except in LED."""
    max_encoder_position_embeddings: int = Field(16384, ge=1)
    """Positions of LED's encoder."""
    max_decoder_position_embeddings: int = Field(1024, ge=1)
    """Positions of LED's decoder."""
    attention_window: int | list[int] = 512
    """Width of LED's sliding window without the token itself, for all layers or for each."""
    generation: GenerationSettings
    """Settings of `generate`."""

    @property
    def family(self) -> Family:
        """Family of the model."""
        return FAMILIES[self.model_type]

    @property
    def source_length(self) -> int:
        """Positions of the encoder."""
        return int(getattr(self, self.family.lengths[0]))

    @property
    def target_length(self) -> int:
        """Positions of the decoder."""
        return int(getattr(self, self.family.lengths[1]))


@dataclass(frozen=True)
class ImportOptions:
    """Changes to an imported model.

    Attributes:
        attention: Attention of the encoder: that of the original, or another one with the same projections.
        window: Tokens of a block, or width of a sliding window without the token itself; None keeps the attention.
        positions: Length of the encoder's input in tokens; None keeps it.
        extend: How positions beyond the learned ones are made, see `sumpool.pretrained.positions`.
    """

    attention: Literal["keep", "sliding_window", "blockwise"] = "keep"
    window: int | None = None
    positions: int | None = None
    extend: Literal["repeat", "flip"] = "repeat"


def read_config(folder: Path) -> PretrainedConfig:
    """Read and check `config.json`.

    Raises:
        CheckpointError: If it is missing or damaged, or the model is not supported.
    """
    path = folder / CONFIG
    tree = read_json(path)
    tree = {**_family_defaults(tree.get("model_type"), path), **tree}
    tree = {name: value for name, value in tree.items() if value is not None}
    generation = read_generation(folder, tree)
    start = {name: generation[name] for name in ("decoder_start_token_id",) if name in generation}
    tree = {**tree, **start, "generation": generation}
    try:
        config = PretrainedConfig.model_validate(tree)
    except ValidationError as error:
        raise CheckpointError(f"{path}: {first_problem(error)}") from error
    for name in ("attention_heads", "ffn_dim"):
        encoder, decoder = (getattr(config, f"{half}_{name}") for half in ("encoder", "decoder"))
        if encoder != decoder:
            raise CheckpointError(f"{path}: decoder_{name} must be as encoder_{name} = {encoder}, got {decoder}")
    _check_special_tokens(config, path)
    return config


def _family_defaults(model_type: Any, path: Path) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON
    """Return the defaults of a family; there are none for an unknown one, which `PretrainedConfig` refuses."""
    if not isinstance(model_type, str):
        return {}
    if model_type in UNSUPPORTED:
        raise CheckpointError(
            f"{path}: model_type must be one of {', '.join(FAMILIES)}, got {model_type!r}, which needs what sumpool "
            f"lacks: {UNSUPPORTED[model_type]}; import another model"
        )
    return next((family.defaults for name, family in FAMILIES.items() if name == model_type), {})


def _check_special_tokens(config: PretrainedConfig, path: Path) -> None:
    generation = config.generation
    named = {
        "pad_token_id": config.pad_token_id,
        "eos_token_id": config.eos_token_id,
        "decoder_start_token_id": config.decoder_start_token_id,
        "forced_bos_token_id": generation.forced_bos_token_id,
    }
    for name, token in named.items():
        if token is not None and token >= config.vocab_size:
            raise CheckpointError(f"{path}: {name} must be below vocab_size = {config.vocab_size}, got {token}")
    if generation.forced_eos_token_id not in (None, config.eos_token_id):
        raise CheckpointError(
            f"{path}: forced_eos_token_id must be eos_token_id = {config.eos_token_id}, "
            f"got {generation.forced_eos_token_id}"
        )


def to_model_config(config: PretrainedConfig, options: ImportOptions, folder: Path) -> ModelConfig:
    """Return the configuration of the model that computes the same function, but for the options.

    Raises:
        RecipeError: If the options contradict each other or the original.
        CheckpointError: If there is no such model.
    """
    attentions, family = _attentions(config, options), config.family
    tree = {
        "dim": config.d_model,
        "heads": config.encoder_attention_heads,
        "feed_forward": config.encoder_ffn_dim,
        "activation": _ALIASES.get(config.activation_function, config.activation_function),
        "positions": "learned",
        "scale_embedding": config.scale_embedding and family.scales_embedding,
        "embedding_norm": family.embedding_norm,
        "norm": family.norm,
        "dropout": config.dropout,
        "source_length": options.positions or config.source_length,
        "target_length": config.target_length,
        "encoder": [{"attention": attention} for attention in attentions],
        "decoder": {"layers": config.decoder_layers, "positions": "learned"},
        "output": {"kind": "tied", "bias": True},
    }
    try:
        return ModelConfig.model_validate(tree)
    except ValidationError as error:
        raise CheckpointError(f"{folder / CONFIG} must be of a supported model: {first_problem(error)}") from error


def _attentions(config: PretrainedConfig, options: ImportOptions) -> list[Mapping[str, Any]]:
    """Return the attention settings of each encoder layer."""
    kind, window = options.attention, options.window
    if (kind == "keep") != (window is None):
        raise RecipeError(
            f"--window must come with --attention sliding_window or blockwise, and they with it, got --attention {kind}"
            f" and {'no --window' if window is None else f'--window {window}'}"
        )
    if kind == "sliding_window" and window is not None and window % 2:
        raise RecipeError(f"--window must be even for sliding_window, one half on either side, got {window}")
    if config.model_type != "led":
        width = {"sliding_window": "window", "blockwise": "block"}
        one = {"kind": "vanilla"} if kind == "keep" else {"kind": kind, width[kind]: window}
        return [one] * config.encoder_layers
    if kind == "blockwise":
        raise RecipeError(
            "--attention must be keep or sliding_window for LED, got blockwise, in which the first token is not global"
        )
    windows = config.attention_window if window is None else window
    listed = [windows] * config.encoder_layers if isinstance(windows, int) else windows
    if len(listed) != config.encoder_layers:
        raise CheckpointError(
            f"{CONFIG}: attention_window must have {config.encoder_layers} entries, one for each layer, "
            f"got {len(listed)}"
        )
    return [{"kind": "sliding_window", "window": window, "global_first": True} for window in listed]
