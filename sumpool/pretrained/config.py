"""`config.json` and `generation_config.json` of a pretrained model, and the settings of the same function.

All families that `SummarizationModel` can compute are encoder-decoders with one matrix for embedding and output. They
differ in the place of the norms, in positions, and in the encoder's attention:

| family                                | norm | embedding norm | positions  | encoder's attention                   |
|---------------------------------------|------|----------------|------------|---------------------------------------|
| BART (Lewis et al., 2020)             | post | yes            | learned    | full                                  |
| LED (Beltagy et al., 2020)            | post | yes            | learned    | sliding window, first token is global |
| mBART (Liu et al., 2020)              | pre  | yes            | learned    | full                                  |
| PEGASUS (Zhang et al., 2020)          | pre  | no             | sinusoidal | full                                  |
| Marian (Junczys-Dowmunt et al., 2018) | post | no             | sinusoidal | full                                  |

Sinusoidal positions become a table of learned ones: the frequencies of transformers are 10000 ** (-i / n) for n pairs
of features, and those of `sumpool.core.nn.positions` 10000 ** (-i / (n - 1)).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.model.config import ModelConfig
from sumpool.errors import CheckpointError, RecipeError
from sumpool.io import bounded
from sumpool.settings import first_problem

Parts = Mapping[str, tuple[str, ...]]
"""Linear maps and norms by name, each with the names of those of the original that are concatenated into it."""

FamilyName = Literal["bart", "led", "mbart", "pegasus", "marian"]

FULL_ATTENTION: Final[Parts] = {
    "attention.project": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
}
_LED_ATTENTION: Parts = {
    "attention.project": tuple(f"self_attn.longformer_self_attn.{name}" for name in ("query", "key", "value")),
    "attention.first.query": ("self_attn.longformer_self_attn.query_global",),
    "attention.first.key_value": tuple(f"self_attn.longformer_self_attn.{name}_global" for name in ("key", "value")),
    "attention.out": ("self_attn.output",),
}

_EVERY_LAYER: Parts = {
    "attention_residual.norm": ("self_attn_layer_norm",),
    "feed_forward.widen": ("fc1",),
    "feed_forward.narrow": ("fc2",),
    "feed_forward_residual.norm": ("final_layer_norm",),
}
_CROSS_ATTENTION: Parts = {
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.out": ("encoder_attn.out_proj",),
    "cross_attention_residual.norm": ("encoder_attn_layer_norm",),
}

GENERATION = "generation_config.json"
_WITHOUT_EFFECT = {
    "do_sample": False,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "encoder_no_repeat_ngram_size": 0,
    "exponential_decay_length_penalty": None,
    "guidance_scale": 1.0,
    "penalty_alpha": None,
    "bad_words_ids": None,
    "force_words_ids": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
}
"""Unsupported settings, with the value that has no effect."""
CONFIG = "config.json"


@dataclass(frozen=True, kw_only=True)
class Family:
    """Properties that the models of a `model_type` share.

    Attributes:
        name: Name, for messages.
        architecture: Class of transformers.
        norm: Position of layer normalisation. With pre-norm, a norm follows the last layer.
        embedding_norm: Whether embeddings are normalised.
        positions: Kind of the positions of encoder and decoder.
        unused_positions: Rows of learned positions before that of the first token.
        lengths: Fields of `config.json` with the positions of encoder and decoder.
        attention: Parts of the encoder's attention.
        scales_embedding: Whether `scale_embedding` has an effect.
        defaults: Values of fields that `config.json` may lack.
    """

    name: str
    architecture: str
    norm: Literal["pre", "post"]
    embedding_norm: bool
    positions: Literal["learned", "sinusoidal"]
    unused_positions: int = 0
    lengths: tuple[str, str] = ("max_position_embeddings", "max_position_embeddings")
    attention: Parts = field(default_factory=lambda: FULL_ATTENTION)
    scales_embedding: bool = True
    defaults: Mapping[str, Any]

    def weights(self, half: str, layers: int) -> Iterator[tuple[str, list[str]]]:
        """Names of the weights of linear maps and norms, each with those of the original that it concatenates.

        Args:
            half: "encoder" or "decoder".
            layers: Its layers.
        """
        attention = self.attention if half == "encoder" else {**FULL_ATTENTION, **_CROSS_ATTENTION}
        outer: Parts = {"embed.norm": ("layernorm_embedding",)} if self.embedding_norm else {}
        outer = {**outer, "norm": ("layer_norm",)} if self.norm == "pre" else outer
        modules = [(half, outer)]
        modules += [(f"{half}.layers.{layer}", {**attention, **_EVERY_LAYER}) for layer in range(layers)]
        for module, parts in modules:
            for (part, sources), kind in product(parts.items(), ("weight", "bias")):
                yield f"{module}.{part}.{kind}", [f"{module}.{source}.{kind}" for source in sources]


def _tokens(pad: int, eos: int, decoder_start: int | None) -> dict[str, int]:
    """Return ids of special tokens, of which EOS is forced at the maximum length."""
    start = {} if decoder_start is None else {"decoder_start_token_id": decoder_start}
    return {"pad_token_id": pad, "eos_token_id": eos, "forced_eos_token_id": eos, **start}


FAMILIES: Final[Mapping[FamilyName, Family]] = {
    "bart": Family(
        name="BART",
        architecture="BartForConditionalGeneration",
        norm="post",
        embedding_norm=True,
        positions="learned",
        unused_positions=2,
        defaults=_tokens(1, 2, 2),
    ),
    "led": Family(
        name="LED",
        architecture="LEDForConditionalGeneration",
        norm="post",
        embedding_norm=True,
        positions="learned",
        lengths=("max_encoder_position_embeddings", "max_decoder_position_embeddings"),
        attention=_LED_ATTENTION,
        scales_embedding=False,
        defaults={"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
    ),
    "mbart": Family(
        name="mBART",
        architecture="MBartForConditionalGeneration",
        norm="pre",
        embedding_norm=True,
        positions="learned",
        unused_positions=2,
        defaults=_tokens(1, 2, None),  # the decoder starts with a language, which has no default
    ),
    "pegasus": Family(
        name="PEGASUS",
        architecture="PegasusForConditionalGeneration",
        norm="pre",
        embedding_norm=False,
        positions="sinusoidal",
        defaults=_tokens(0, 1, 0),
    ),
    "marian": Family(
        name="Marian",
        architecture="MarianMTModel",
        norm="post",
        embedding_norm=False,
        positions="sinusoidal",
        defaults=_tokens(58100, 0, 58100),
    ),
}
"""Families by `model_type`."""


class GenerationSettings(BaseModel):
    """Settings by the names of transformers."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    no_repeat_ngram_size: int = 0
    min_length: int = Field(0, ge=0)
    """Minimum length in tokens, the decoder's first input included and EOS excluded."""
    max_length: int | None = Field(None, ge=3)
    """Maximum length in tokens, the decoder's first input and EOS included."""
    min_new_tokens: int | None = Field(None, ge=0)
    """Minimum length without the decoder's first input; outranks `min_length`."""
    max_new_tokens: int | None = Field(None, ge=2)
    forced_bos_token_id: int | None = Field(None, ge=0)
    forced_eos_token_id: int | None = Field(None, ge=0)
    suppress_tokens: list[int] | None = None
    left_out: tuple[str, ...] = ()
    """Unsupported settings of the file."""


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


def read_config(folder: Path) -> PretrainedConfig:
    """Read and check `config.json`.

    Raises:
        CheckpointError: If it is missing or damaged, or the model is not supported.
    """
    path = folder / CONFIG
    tree = read_json(path)
    defaults = next((family.defaults for name, family in FAMILIES.items() if name == tree.get("model_type")), {})
    tree = {name: value for name, value in {**defaults, **tree}.items() if value is not None}
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
    named = {
        "pad_token_id": config.pad_token_id,
        "eos_token_id": config.eos_token_id,
        "decoder_start_token_id": config.decoder_start_token_id,
        "forced_bos_token_id": config.generation.forced_bos_token_id,
    }
    for name, token in named.items():
        if token is not None and token >= config.vocab_size:
            raise CheckpointError(f"{path}: {name} must be below vocab_size = {config.vocab_size}, got {token}")
    eos, forced = config.eos_token_id, config.generation.forced_eos_token_id
    if forced not in (None, eos):
        raise CheckpointError(f"{path}: forced_eos_token_id must be eos_token_id = {eos}, got {forced}")
    return config


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        CheckpointError: If the file is missing, damaged or holds anything else.
    """
    return bounded.read_json(path, CheckpointError, "download it again")


def read_generation(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings of `generate` of a folder, given its `config.json` without null values.

    They are those of `generation_config.json`, or if there is none of `config.json`, where those of all tasks outrank
    those of summarization. Defaults are those of `generate`, except for the maximum length, 20 tokens there.

    Returns:
        Values of `GenerationSettings`.

    Raises:
        CheckpointError: If `generation_config.json` is there and damaged.
    """
    if (folder / GENERATION).is_file():
        settings = read_json(folder / GENERATION)
    else:
        tasks = config.get("task_specific_params")
        task = tasks.get("summarization") if isinstance(tasks, dict) else None
        settings = {**(task if isinstance(task, dict) else {}), **config}
    settings = {name: value for name, value in settings.items() if value is not None}
    if settings.get("bad_words_ids") == [[config.get("pad_token_id")]]:
        del settings["bad_words_ids"]  # padding is never generated
    left_out = tuple(name for name, usual in _WITHOUT_EFFECT.items() if settings.get(name, usual) != usual)
    return {**settings, "left_out": left_out}


@dataclass(frozen=True)
class ImportOptions:
    """Changes to an imported model.

    Attributes:
        attention: Attention of the encoder: that of the original, or another one with the same projections.
        window: Tokens of a block, or width of a sliding window without the token itself; None keeps the attention.
        positions: Length of the encoder's input in tokens; None keeps it.
        extend: How positions beyond the learned ones are made, see `sumpool.pretrained.weights`.
        cross_attention: Cross-attention: that of the original, or HEPOS, which has the same weights.
    """

    attention: Literal["keep", "sliding_window", "blockwise"] = "keep"
    window: int | None = None
    positions: int | None = None
    extend: Literal["repeat", "flip", "last"] = "repeat"
    cross_attention: Literal["keep", "hepos"] = "keep"


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
        "activation": "silu" if config.activation_function == "swish" else config.activation_function,
        "positions": "learned",
        "scale_embedding": config.scale_embedding and family.scales_embedding,
        "embedding_norm": family.embedding_norm,
        "norm": family.norm,
        "dropout": config.dropout,
        "source_length": options.positions or config.source_length,
        "target_length": config.target_length,
        "encoder": [{"attention": attention} for attention in attentions],
        "decoder": {
            "layers": config.decoder_layers,
            "positions": "learned",
            "cross_attention": {"kind": "full" if options.cross_attention == "keep" else options.cross_attention},
        },
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


def to_decoding_config(generation: GenerationSettings, target_length: int) -> DecodingConfig:
    """Convert the settings of `generate`.

    Args:
        generation: The settings.
        target_length: Maximum length of a summary of the model in tokens, EOS included.

    Raises:
        ValueError: If a value is not supported; also as pydantic's `ValidationError`.
    """
    forced = generation.forced_eos_token_id is not None
    limits = [target_length - 1]
    if generation.max_new_tokens is not None:
        limits.append(generation.max_new_tokens - forced)
    elif generation.max_length is not None:
        limits.append(generation.max_length - 1 - forced)
    maximum = min(limits)
    minimum = generation.min_new_tokens
    if minimum is None:
        minimum = max(0, generation.min_length - 1)
    forced_bos = generation.forced_bos_token_id
    return DecodingConfig(
        beams=generation.num_beams,
        length_penalty=generation.length_penalty,
        length_formula="sumpool" if generation.early_stopping == "never" else "transformers",
        early_stopping=generation.early_stopping is True,
        min_length=min(maximum, minimum),
        max_length=maximum,
        force_end=forced,
        begin_with=() if forced_bos is None else (forced_bos,),
        no_repeat_words=0,
        no_repeat_tokens=generation.no_repeat_ngram_size,
        repair=False,
    )
