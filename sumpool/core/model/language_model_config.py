"""The settings of a language model: the `model` section of a recipe of `task: language_modeling`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sumpool.core.boundaries._base import BoundariesConfig
from sumpool.core.nn.layers import Activation
from sumpool.settings import OneOf, Settings


class LanguageModelConfig(Settings):
    """Transformer over characters, bytes or subwords, whose middle layers may see one vector per segment.

    The default is the published model without shortening, 12 layers of Transformer-XL attention. With `layers: [2, 8,
    2]` and one entry of `boundaries` the eight middle layers work on segments; each further pair of layers and entry
    of `boundaries` shortens the segments once more (Hourglass).
    """

    dim: int = Field(512, ge=2, le=8192)
    """Features of a state (d_model)."""
    heads: int = Field(8, ge=1, le=128)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(2048, ge=1, le=65536)
    """Width of the feed-forward layers."""
    activation: Activation = "gelu"
    """Non-linearity of the feed-forward layers; GELU as in the released code."""
    layers: tuple[Annotated[int, Field(ge=0, le=256)], ...] = Field((12,), min_length=1, max_length=15)
    """Layers before, between and after the shortenings: one number more than two for each entry of `boundaries`."""
    boundaries: tuple[Annotated[BoundariesConfig, OneOf("sumpool.core.boundaries")], ...] = ()
    """Ends of the segments, outermost shortening first; none is the plain Transformer."""
    positions: Literal["relative", "sinusoidal", "learned"] = "relative"
    """Positions: relative in every attention, as in Transformer-XL, or absolute ones added to the embeddings."""
    norm: Literal["pre", "post"] = "post"
    """Position of layer normalisation: before each sub-layer, or after its residual sum as in the released code."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on embeddings, position encodings, and the output of every sub-layer."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on attention weights."""
    store_attention: bool = False
    """Store the attention weights of training for the backward pass, as the released code does, instead of computing
    them again; memory is then quadratic in the length."""
    length: int = Field(2048, ge=1, le=10_000_000)
    """Tokens of a training window; the most tokens of any text with learned positions."""
    seed: int = Field(0, ge=0, le=2**31 - 1)
    """Seed of the draws that `random` boundaries, and sampled ones in evaluation, take for each position."""

    @property
    def boundary_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the boundaries."""
        supervised = any("boundaries" in boundaries.losses for boundaries in self.boundaries)
        return ("boundaries",) if supervised else ()

    @property
    def requires_phrases(self) -> bool:
        """Whether training needs the segments of a teacher (`phrases`)."""
        return any(boundaries.requires_phrases for boundaries in self.boundaries)

    @model_validator(mode="after")
    def _layers_of_every_shortening(self) -> Self:
        expected = 2 * len(self.boundaries) + 1
        if len(self.layers) != expected:
            raise ValueError(
                f"layers must have {expected} numbers for {len(self.boundaries)} boundaries, got {list(self.layers)}"
            )
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim = {self.dim}, got {self.heads}")
        if self.positions != "learned" and self.dim % 2:
            raise ValueError(f"dim must be even for {self.positions} positions, got {self.dim}")
        return self

    @model_validator(mode="after")
    def _boundaries_without_later_tokens(self) -> Self:
        for level, boundaries in enumerate(self.boundaries):
            if not boundaries.causal:
                raise ValueError(
                    f"boundaries[{level}] must be known without later tokens, got kind {boundaries.kind}"
                    + (" with inference: expected" if boundaries.kind == "gumbel" else "")
                )
            if level and boundaries.supervised:
                raise ValueError(
                    f"boundaries[{level}] must need no targets, only boundaries[0] has any, got kind {boundaries.kind}"
                )
        return self
