"""Settings of `sumpool bench attentions` and of `sumpool bench depth`."""

from typing import Self

from pydantic import Field, model_validator

from sumpool.bench.config import Count, ModelSizes, Repeated
from sumpool.settings import Settings


class AttentionsConfig(Settings):
    """Lengths and sizes at which the costs of all self-attentions are measured."""

    lengths: tuple[Count, ...] = Field((1024, 2048, 4096, 8192, 16384), min_length=1)
    """Tokens of the document."""
    dim: Count = 64
    """Features of a vector."""
    heads: Count = 4
    """Attention heads; must divide dim."""
    repeats: Count = 3
    """Measured repetitions, of which the fastest counts."""
    seconds: float = Field(10, gt=0, le=1_000_000)
    """Longer documents are left out where a repetition would take longer than this."""
    peers: bool = False
    """Whether to time layers of transformers beside ours instead."""

    @model_validator(mode="after")
    def _heads_divide_features(self) -> Self:
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim = {self.dim}, got {self.heads}")
        return self


class DepthConfig(Repeated, ModelSizes):
    """Depths and lengths of encoders whose training is timed; the sizes are those of the paper."""

    layers: tuple[Count, ...] = Field((2, 4, 8, 16), min_length=1)
    """Layers of the encoder."""
    lengths: tuple[Count, ...] = Field((2048, 4096, 8192), min_length=1)
    """Source tokens."""
    keep: int = Field(16, ge=2, le=10_000_000)
    """Source tokens for each vector that a pyramid leaves: 512 of 8,192."""
    block: int = Field(512, ge=1, le=10_000_000)
    """Tokens of a block."""
    target: int = Field(512, ge=1, le=10_000_000)
    """Summary tokens."""
    decoder: int = Field(2, ge=1, le=10_000_000)
    """Layers of the decoder."""
    dim: int = Field(512, ge=2, le=10_000_000)
    """Features of a vector."""
    heads: Count = 8
    feed_forward: int = Field(2048, ge=1, le=10_000_000)
    """Width of the feed-forward layers."""
    vocabulary: int = Field(32_000, ge=8, le=10_000_000)
    """Tokens of the vocabulary."""
    seconds: float = Field(30, gt=0, le=1_000_000)
    """A model is left out where a step would take longer than this, as a shallower or shorter one shows."""
