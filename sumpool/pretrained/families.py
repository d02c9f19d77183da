"""Model families of Hugging Face that are imported, and where the tensors of each belong.

All are encoder-decoders with the attention of Vaswani et al. (2017) and one matrix for embedding and output. They
differ in norms and positions, and LED in the encoder's attention. Queries, keys and values become one matrix here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Parts = Mapping[str, tuple[str, ...]]
"""Linear maps and norms by name, each with the names of those of the original that are concatenated into it."""

FamilyName = Literal["bart", "led", "marian", "mbart", "pegasus"]

_ATTENTION: Final[Parts] = {
    "attention.project": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
}
_LED_ATTENTION: Final[Parts] = {
    "attention.project": tuple(f"self_attn.longformer_self_attn.{name}" for name in ("query", "key", "value")),
    "attention.first.query": ("self_attn.longformer_self_attn.query_global",),
    "attention.first.key_value": tuple(f"self_attn.longformer_self_attn.{name}_global" for name in ("key", "value")),
    "attention.out": ("self_attn.output",),
}
_CROSS_ATTENTION: Final[Parts] = {
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.out": ("encoder_attn.out_proj",),
    "cross_attention_residual.norm": ("encoder_attn_layer_norm",),
}
_EVERY_LAYER: Final[Parts] = {
    "attention_residual.norm": ("self_attn_layer_norm",),
    "feed_forward.widen": ("fc1",),
    "feed_forward.narrow": ("fc2",),
    "feed_forward_residual.norm": ("final_layer_norm",),
}


@dataclass(frozen=True)
class Family:
    """Structure that the models of a family have in common.

    Attributes:
        norm: Norms before the sub-layers, with one more after the last layer, or after them.
        embedding_norm: Whether there is a norm over the embeddings.
        learned_positions: Whether positions are learned; sinusoids otherwise.
        unused_positions: Rows of learned positions before that of the first token.
        scales_embedding: Whether `scale_embedding` of the configuration has an effect.
        attention: Self-attention of the encoder.
    """

    norm: Literal["pre", "post"]
    embedding_norm: bool
    learned_positions: bool = True
    unused_positions: int = 0
    scales_embedding: bool = True
    attention: Parts = field(default_factory=lambda: _ATTENTION)

    @property
    def encoder_layer(self) -> Parts:
        """Modules of a layer of the encoder."""
        return {**self.attention, **_EVERY_LAYER}

    @property
    def decoder_layer(self) -> Parts:
        """Modules of a layer of the decoder."""
        return {**_ATTENTION, **_CROSS_ATTENTION, **_EVERY_LAYER}

    @property
    def norms(self) -> Parts:
        """Norms of encoder and decoder outside their layers."""
        norms = {"embed.norm": ("layernorm_embedding",)} if self.embedding_norm else {}
        return {**norms, "norm": ("layer_norm",)} if self.norm == "pre" else norms


FAMILIES: Final[Mapping[FamilyName, Family]] = {
    "bart": Family("post", embedding_norm=True, unused_positions=2),
    "led": Family("post", embedding_norm=True, scales_embedding=False, attention=_LED_ATTENTION),
    "marian": Family("post", embedding_norm=False, learned_positions=False),
    "mbart": Family("pre", embedding_norm=True, unused_positions=2),
    "pegasus": Family("pre", embedding_norm=False, learned_positions=False),
}

NOT_CARRIED: Final = {
    "t5": "positions are biases of unscaled attention, and norms do not subtract the mean",
    "mt5": "positions are biases of unscaled attention, and norms do not subtract the mean",
    "umt5": "positions are biases of unscaled attention, and norms do not subtract the mean",
    "longt5": "positions are biases of unscaled attention, and norms do not subtract the mean",
    "pegasus_x": "blocks of every second layer are staggered, and global tokens attend beside them",
    "bigbird_pegasus": "blocks of random positions are drawn when the model is called",
    "prophetnet": "several tokens are predicted at a time",
    "encoder-decoder": "encoder and decoder are models of their own",
}
"""Encoder-decoders of transformers that are not imported, with the part that no variant here computes."""
