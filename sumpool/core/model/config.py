"""The settings of the model: the `model` section of a recipe."""

from typing import Annotated, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from sumpool.core.attention._base import AttentionConfig
from sumpool.core.cross_attention._base import CrossAttentionConfig
from sumpool.core.cross_attention.full import FullCrossAttentionConfig
from sumpool.core.nn.execution import SkipInit
from sumpool.core.output._base import OutputConfig
from sumpool.core.output.pointer import PointerOutputConfig
from sumpool.core.pooling._base import PoolerConfig
from sumpool.settings import Settings
from sumpool.variants import OneOf

PositionsOfTokens = Literal["sinusoidal", "learned", "none"]


class EncoderLayerConfig(Settings):
    """One encoder layer, and the pooling after it."""

    attention: Annotated[AttentionConfig, OneOf("sumpool.core.attention")]
    """How the vectors of a document see each other."""
    pool: Annotated[PoolerConfig, OneOf("sumpool.core.pooling")] | None = None
    """What leaves fewer vectors after this layer; nothing by default."""


class DecoderConfig(Settings):
    """The decoder."""

    layers: int = Field(6, ge=1, le=64)
    """Decoder layers."""
    cross_attention: Annotated[CrossAttentionConfig, OneOf("sumpool.core.cross_attention")] = FullCrossAttentionConfig()
    """How the summary sees the document."""
    positions: PositionsOfTokens = "sinusoidal"
    """Positions of the summary's tokens: waves, a vector learnt for each place, or none as in the paper's models."""
    predict_length: bool = False
    """Whether the model foresees how long the summary of a document is to become and is told at every token how many
    are left; learnt by the loss `length`."""


class ModelConfig(Settings):
    """An encoder-decoder Transformer that pools what it reads."""

    dim: int = Field(512, ge=2, le=8192)
    """Features of a vector."""
    heads: int = Field(8, ge=1, le=128)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(2048, ge=1, le=65536)
    """Width of the feed-forward layers."""
    activation: Literal["relu", "gelu"] = "relu"
    """Non-linearity of the feed-forward layers."""
    positions: PositionsOfTokens = "sinusoidal"
    """Positions added to the source's embeddings: waves, a vector learnt for each place, or none, which leaves them to
    attentions that have their own."""
    scale_embedding: bool = True
    """Whether embeddings are multiplied by the root of dim, so that positions do not drown them."""
    embedding_norm: bool = False
    """Whether embeddings are normalised before the first layer, in encoder and decoder."""
    norm: Literal["pre", "post"] = "pre"
    """Where layer normalisation stands: before each sub-layer, or after its residual sum."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings and on what every sub-layer adds."""
    source_length: int = Field(8192, ge=1)
    """Tokens of a document that the model reads at once."""
    target_length: int = Field(512, ge=1)
    """Tokens of a summary that the model learns from or writes, its end included."""
    encoder: tuple[EncoderLayerConfig, ...] = Field(min_length=1)
    """The encoder's layers, first to last."""
    restore: bool = False
    """Whether the decoder sees every source token again: its vector before the first pooling plus the one that it was
    pooled into (Dai et al., 2020)."""
    decoder: DecoderConfig = DecoderConfig()
    """The decoder."""
    output: Annotated[OutputConfig, OneOf("sumpool.core.output")] = PointerOutputConfig()
    """How decoder states become words."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim = {self.dim}, got {self.heads}")
        if self.dim % 2:
            raise ValueError(f"dim must be even for sinusoidal positions, got {self.dim}")
        return self

    @model_validator(mode="after")
    def _layers_suit_dim(self) -> Self:
        """Let every layer say what it cannot be built with, before there are data or a device."""
        with torch.device("meta"), SkipInit():  # takes neither memory nor random numbers
            embedding = nn.Embedding(1, self.dim)
            try:
                self.decoder.cross_attention.build(self.dim, self.heads)
                self.decoder.cross_attention.build_memory_encoder(self.dim)
            except ValueError as error:
                raise ValueError(f"decoder: {error}") from error
            for number, layer in enumerate(self.encoder):
                try:
                    layer.attention.build(self.dim, self.heads)
                    if layer.pool:
                        layer.pool.build(embedding)
                except ValueError as error:
                    raise ValueError(f"encoder[{number}]: {error}") from error
        return self
