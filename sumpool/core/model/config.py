"""The settings of the model: the `model` section of a recipe."""

from typing import Annotated, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from sumpool.core.attention._base import AttentionConfig, SoftmaxAttention
from sumpool.core.cross_attention import CrossAttentionConfig, FullCrossAttentionConfig
from sumpool.core.nn.layers import Activation, SkipInit
from sumpool.core.nn.positions import AbsolutePositions, Embed
from sumpool.core.output import OutputConfig, PointerOutputConfig
from sumpool.core.pooling._base import PoolerConfig
from sumpool.settings import OneOf, Settings


class EncoderLayerConfig(Settings):
    """One encoder layer, and an optional pooling after it."""

    attention: Annotated[AttentionConfig, OneOf("sumpool.core.attention")]
    """Self-attention of the layer."""
    pool: Annotated[PoolerConfig, OneOf("sumpool.core.pooling")] | None = None
    """Pooling after the layer; none by default."""

    @model_validator(mode="after")
    def _scorer_reads_weights(self) -> Self:
        scorer = getattr(self.pool, "scorer", None)
        built = self.attention.variant_class
        if scorer and scorer.kind == "attention_mass" and not issubclass(built, SoftmaxAttention):
            rule = "attention must have weights, as vanilla has, before the scorer attention_mass"
            raise ValueError(f"{rule}, got {self.attention.kind}")
        return self


class DecoderConfig(Settings):
    """The decoder."""

    layers: int = Field(6, ge=1, le=64)
    """Decoder layers."""
    cross_attention: Annotated[CrossAttentionConfig, OneOf("sumpool.core.cross_attention")] = FullCrossAttentionConfig()
    """Attention from the summary to the encoded document."""
    positions: AbsolutePositions = "sinusoidal"
    """Positions of the summary's tokens: sinusoidal, learned embeddings, or none as in the paper's models."""
    predict_length: bool = False
    """Predict the length of each summary from the document and condition the decoder at every position on the number of
    remaining tokens; trained by the loss `length`."""


class ModelConfig(Settings):
    """Encoder-decoder Transformer with pooling between encoder layers."""

    dim: int = Field(512, ge=2, le=8192)
    """Features of a state (d_model)."""
    heads: int = Field(8, ge=1, le=128)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(2048, ge=1, le=65536)
    """Width of the feed-forward layers."""
    activation: Activation = "relu"
    """Non-linearity of the feed-forward layers."""
    positions: AbsolutePositions = "sinusoidal"
    """Positions added to the source's embeddings: sinusoidal, learned embeddings, or none, for attentions with position
    encodings of their own."""
    scale_embedding: bool = True
    """Multiply embeddings by the square root of dim, so that positions do not dominate them."""
    embedding_norm: bool = False
    """Apply layer normalisation to the embeddings, in encoder and decoder."""
    norm: Literal["pre", "post"] = "pre"
    """Position of layer normalisation: before each sub-layer, or after its residual sum."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings and on the output of every sub-layer."""
    source_length: int = Field(8192, ge=1, le=10_000_000)
    """Maximum tokens of a document that are read."""
    target_length: int = Field(512, ge=2, le=1_000_000)
    """Maximum tokens of a summary in training and generation, EOS included."""
    encoder: tuple[EncoderLayerConfig, ...] = Field(min_length=1, max_length=256)
    """The encoder's layers, first to last."""
    restore: bool = False
    """Upsample to all source tokens for the decoder: the state of each before the first pooling plus the pooled state
    that it is a member of (Dai et al., 2020)."""
    decoder: DecoderConfig = DecoderConfig()
    """The decoder."""
    output: Annotated[OutputConfig, OneOf("sumpool.core.output")] = PointerOutputConfig()
    """Output head: from decoder states to log-probabilities of tokens."""

    @property
    def encoder_losses(self) -> frozenset[str]:
        """Names of the auxiliary losses of the encoder."""
        return frozenset(name for layer in self.encoder if layer.pool for name in layer.pool.boundary_losses)

    @property
    def decoder_losses(self) -> frozenset[str]:
        """Names of the auxiliary losses of the decoder."""
        length = ("length",) if self.decoder.predict_length else ()
        cross_attention = self.decoder.cross_attention
        return frozenset((*cross_attention.selection_losses, *cross_attention.optional_losses, *length))

    def build_embed(self, embedding: nn.Embedding, positions: AbsolutePositions, max_length: int) -> Embed:
        """Build the input layer of encoder or decoder."""
        return Embed(
            embedding,
            positions,
            max_length,
            scaled=self.scale_embedding,
            normalised=self.embedding_norm,
            dropout=self.dropout,
        )

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim = {self.dim}, got {self.heads}")
        if self.dim % 2:
            raise ValueError(f"dim must be even for sinusoidal positions, got {self.dim}")
        return self

    @model_validator(mode="after")
    def _layers_suit_dim(self) -> Self:
        """Build every layer once, so that errors are reported before data are read."""
        with torch.device("meta"), SkipInit():  # needs neither memory nor random numbers
            embedding = nn.Embedding(1, self.dim)
            try:
                self.decoder.cross_attention.build(self.dim, self.heads)
                self.decoder.cross_attention.build_memory_encoder(self.dim)
            except ValueError as error:
                raise ValueError(f"decoder: {error}") from error
            for index, layer in enumerate(self.encoder):
                longest = layer.attention.max_length
                if longest is not None and longest < self.source_length:
                    rule = f"at least source_length = {self.source_length}"
                    raise ValueError(f"encoder[{index}].attention.length must be {rule}, got {longest}")
                try:
                    layer.attention.build(self.dim, self.heads)
                    if layer.pool:
                        layer.pool.build(embedding)
                except ValueError as error:
                    raise ValueError(f"encoder[{index}]: {error}") from error
        return self
