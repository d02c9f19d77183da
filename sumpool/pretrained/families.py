"""Model families of transformers that `SummarizationModel` can compute, and parts of others that it lacks.

All are encoder-decoders with one matrix for embedding and output. They differ in the place of the norms, in positions,
and in the encoder's attention:

| family                                | norm | embedding norm | positions  | encoder's attention                   |
|---------------------------------------|------|----------------|------------|---------------------------------------|
| BART (Lewis et al., 2020)             | post | yes            | learned    | full                                  |
| LED (Beltagy et al., 2020)            | post | yes            | learned    | sliding window, first token is global |
| mBART (Liu et al., 2020)              | pre  | yes            | learned    | full                                  |
| PEGASUS (Zhang et al., 2020)          | pre  | no             | sinusoidal | full                                  |
| Marian (Junczys-Dowmunt et al., 2018) | post | no             | sinusoidal | full                                  |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

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


@dataclass(frozen=True, kw_only=True)
class Family:
    """Properties that the models of a `model_type` share.

    Attributes:
        name: Name, for messages.
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
    norm: Literal["pre", "post"]
    embedding_norm: bool
    positions: Literal["learned", "sinusoidal"]
    unused_positions: int = 0
    lengths: tuple[str, str] = ("max_position_embeddings", "max_position_embeddings")
    attention: Parts = field(default_factory=lambda: FULL_ATTENTION)
    scales_embedding: bool = True
    defaults: Mapping[str, Any]

    @property
    def encoder_layer(self) -> Parts:
        """Parts of a layer of the encoder."""
        return {**self.attention, **_EVERY_LAYER}

    @property
    def decoder_layer(self) -> Parts:
        """Parts of a layer of the decoder."""
        return {**FULL_ATTENTION, **_CROSS_ATTENTION, **_EVERY_LAYER}

    @property
    def outer_parts(self) -> Parts:
        """Norms of encoder and decoder outside their layers."""
        embedding: Parts = {"embed.norm": ("layernorm_embedding",)} if self.embedding_norm else {}
        last: Parts = {"norm": ("layer_norm",)} if self.norm == "pre" else {}
        return {**embedding, **last}


def _tokens(pad: int, eos: int, decoder_start: int | None) -> dict[str, int]:
    """Return ids of special tokens, of which EOS is forced at the maximum length."""
    start = {} if decoder_start is None else {"decoder_start_token_id": decoder_start}
    return {"pad_token_id": pad, "eos_token_id": eos, "forced_eos_token_id": eos, **start}


FAMILIES: Final[Mapping[FamilyName, Family]] = {
    "bart": Family(
        name="BART",
        norm="post",
        embedding_norm=True,
        positions="learned",
        unused_positions=2,
        defaults=_tokens(1, 2, 2),
    ),
    "led": Family(
        name="LED",
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
        norm="pre",
        embedding_norm=True,
        positions="learned",
        unused_positions=2,
        defaults=_tokens(1, 2, None),  # the decoder starts with a language, which has no default
    ),
    "pegasus": Family(
        name="PEGASUS",
        norm="pre",
        embedding_norm=False,
        positions="sinusoidal",
        defaults=_tokens(0, 1, 0),
    ),
    "marian": Family(
        name="Marian",
        norm="post",
        embedding_norm=False,
        positions="sinusoidal",
        defaults=_tokens(58100, 0, 58100),
    ),
}
"""Families by `model_type`."""

_T5_PARTS = "relative position biases that all layers share, RMS norms and unscaled attention"

UNSUPPORTED: Final[Mapping[str, str]] = {
    "t5": _T5_PARTS,
    "mt5": _T5_PARTS,
    "umt5": _T5_PARTS,
    "longt5": _T5_PARTS,
    "pegasus_x": "staggered block-local attention with global tokens",
    "bigbird_pegasus": "attention to blocks of positions that are drawn at each call",
    "prophetnet": "prediction of several tokens at a time",
}
"""Parts by `model_type` that sumpool does not have."""
