"""Dynamic segment pooling (Nawrot et al., "Efficient Transformers with Dynamic Token Pooling", section 2.2).

Boundary predictors split a document into segments of variable length, and each segment is pooled to one vector, its
mean. Cost: O(length * dim).

Boundaries that are trained through the pooling get their gradient as in the released code: token t belongs to segment g
with weight 1 - (g - c_t), where c_t counts the boundaries before t, divided by the segment's sum of weights. The value
is a plain mean; the gradient at a token inside a segment tells whether splitting the segment there lowers the loss.

Departures: the last real token always ends a segment (released: tokens after the last boundary are dropped); there is
neither a null segment nor a shift, because an encoder is not causal; no additional layer normalisation; no matrix of
length x segments is materialised.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.boundaries._base import Boundaries, BoundariesConfig
from sumpool.core.boundaries.fixed import FixedBoundariesConfig
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import Mixture, States
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

    def build(self, embedding: nn.Embedding) -> "SegmentsPooler":
        """Build the pooler."""
        return SegmentsPooler(self, self.boundaries.build(embedding))


@dataclass(frozen=True)
class Segments:
    """Segments of a batch of documents.

    Attributes:
        index: (batch, length), segment index of each token, from 0; undefined at padding.
        first: (batch, segments), index of the first token of each segment.
        last: (batch, segments), index of the last token of each segment.
        mask: (batch, segments), True at real segments, which come first.
    """

    index: Tensor
    first: Tensor
    last: Tensor
    mask: Tensor

    @classmethod
    def from_ends(cls, ends: Tensor, mask: Tensor) -> "Segments":
        """Split documents at segment ends.

        Args:
            ends: (batch, length), above 0.5 where a segment ends; any value at padding.
            mask: (batch, length), True at real tokens, the last of which always ends a segment.
        """
        final_token = mask & ~F.pad(mask[:, 1:], (0, 1))
        is_end = mask & ((ends.detach() > 0.5) | final_token)
        end_count = is_end.cumsum(1)
        count = is_end.sum(1)
        order = torch.arange(max(1, int(count.max())), device=mask.device)
        last = torch.searchsorted(end_count, (order + 1).expand(len(mask), -1).contiguous())  # (batch, segments)
        return cls(
            index=(end_count - is_end.long()).clamp(max=len(order) - 1),
            first=F.pad(last[:, :-1] + 1, (1, 0)),
            last=last.clamp(max=mask.size(1) - 1),  # searchsorted returns length for missing segments
            mask=order < count[:, None],
        )

    def mean(self, states: Tensor, weights: Tensor) -> Tensor:
        """Weighted mean of the vectors of each segment, (batch, segments, dim), 0 at padding.

        Args:
            states: (batch, length, dim), 0 at padding.
            weights: (batch, length), 0 at padding.
        """
        batch, segments = self.mask.shape
        slot = (self.index + segments * torch.arange(batch, device=states.device)[:, None]).flatten()
        weighted = (states * weights[..., None]).flatten(0, 1)
        total = weighted.new_zeros(batch * segments, states.size(2)).index_add(0, slot, weighted)
        weight = weights.new_zeros(batch * segments).index_add(0, slot, weights.flatten())
        return (total / torch.where(self.mask.flatten(), weight, 1.0)[:, None]).view(batch, segments, -1)

    def mean_mixture(self, dtype: torch.dtype) -> Mixture:
        """Weights of the tokens in the mean of each segment."""
        longest = int((self.last - self.first).masked_fill(~self.mask, 0).max()) + 1
        members = self.first[..., None] + torch.arange(longest, device=self.first.device)
        inside = (members <= self.last[..., None]) & self.mask[..., None]  # (batch, segments, longest)
        weights = inside.to(dtype) / inside.sum(2, keepdim=True).clamp(min=1)
        return Mixture(members.masked_fill(~inside, 0), weights, self.mask)


def memberships(ends: Tensor, mask: Tensor) -> Tensor:
    """Weight of each token in its segment: value 1, with derivative 1 with respect to every preceding end.

    Args:
        ends: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens.

    Returns:
        (batch, length), in at least single precision; 0 at padding.
    """
    ends = at_least_float32(ends).masked_fill(~mask, 0.0)
    before = ends.cumsum(1) - ends
    return (1.0 + (before - before.detach())).masked_fill(~mask, 0.0)


@final
class SegmentsPooler(Pooler):
    """Pool each segment to one vector."""

    def __init__(self, config: SegmentsPoolerConfig, boundaries: Boundaries) -> None:
        super().__init__()
        self.combine = config.combine
        self.boundaries = boundaries

    def forward(self, tokens: Tokens, states: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, segments, dim), padded to the document with most segments."""
        tokens = states.all() if states else tokens
        vectors, dtype = tokens.states, tokens.states.dtype
        segmentation = self.boundaries(tokens)
        segments = Segments.from_ends(segmentation.ends, tokens.mask)
        if self.combine == "mean":
            padded = at_least_float32(zero_padding(vectors, tokens.mask))
            pooled = segments.mean(padded, memberships(segmentation.ends, tokens.mask)).to(dtype)
            mixture = partial(segments.mean_mixture, dtype)
        else:
            pooled = vectors.gather(1, segments.last[..., None].expand(-1, -1, vectors.size(2)))
            mixture = partial(Mixture, segments.last[..., None], segments.mask[..., None].to(dtype), segments.mask)
        output = pool_tokens(tokens, pooled, segments.mask, segments.last)
        shortening = tokens.mask.sum() / segments.mask.sum()
        return Pooled(replace(output, losses=segmentation.losses, metrics={"shortening": shortening}), mixture)
