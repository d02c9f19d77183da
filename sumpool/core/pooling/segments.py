"""Dynamic segment pooling (Nawrot et al., "Efficient Transformers with Dynamic Token Pooling", section 2.2).

A boundary predictor splits a document into segments of variable length, and each segment is pooled to one vector, the
mean of its vectors or the last of them. Cost: O(length * dim).

Boundaries that are trained through the pooling get their gradient as in the released code
(`sumpool.core.nn.states.memberships`, which the language model shares).

Departures: the last real token always ends a segment (released: tokens after the last boundary are dropped); there is
neither a null segment nor a shift, because an encoder is not causal; no additional layer normalisation; no matrix of
length x segments is materialised.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, final

from torch import nn

from sumpool.core.boundaries import BoundariesConfig, FixedBoundariesConfig
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import Mixture, Segments, memberships
from sumpool.core.pooling._base import Pooled, Pooler, PoolerConfig, pool_tokens
from sumpool.core.tokens import Tokens
from sumpool.settings import OneOf


@final
class SegmentsPoolerConfig(PoolerConfig):
    """Settings of segment pooling."""

    kind: Literal["segments"] = "segments"
    boundaries: Annotated[BoundariesConfig, OneOf("sumpool.core.boundaries")] = FixedBoundariesConfig()
    """Boundary predictor."""
    combine: Literal["mean", "last"] = "mean"
    """Reduction of a segment: the mean of its vectors, or the last of them (appendix A)."""

    @property
    def boundary_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the boundaries."""
        return self.boundaries.losses

    @property
    def requires_phrases(self) -> bool:
        """Whether the boundaries are trained on phrases."""
        return self.boundaries.requires_phrases


@final
class SegmentsPooler(Pooler):
    """Pool each segment to one vector."""

    config: SegmentsPoolerConfig

    def __init__(self, config: SegmentsPoolerConfig, embedding: nn.Embedding) -> None:
        super().__init__(config, embedding)
        self.boundaries = config.boundaries.build(embedding)

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, segments, dim), padded to the document with most segments."""
        vectors, dtype = tokens.states, tokens.states.dtype
        segmentation = self.boundaries(tokens)
        segments = Segments.from_ends(segmentation.ends, tokens.mask)
        if self.config.combine == "mean":
            padded = at_least_float32(zero_padding(vectors, tokens.mask))
            pooled = segments.mean(padded, memberships(segmentation.ends, tokens.mask)).to(dtype)
            mixture = partial(segments.mean_mixture, dtype)
        else:
            pooled = vectors.gather(1, segments.last[..., None].expand(-1, -1, vectors.size(2)))
            mixture = partial(Mixture, segments.last[..., None], segments.mask[..., None].to(dtype), segments.mask)
        output = pool_tokens(tokens, pooled, segments.mask, segments.last, segments.counts)
        shortening = tokens.mask.sum() / segments.mask.sum()
        return Pooled(replace(output, losses=segmentation.losses, metrics={"shortening": shortening}), mixture)
