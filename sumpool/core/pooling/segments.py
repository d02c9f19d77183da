"""Pooling of segments (Nawrot et al., "Efficient Transformers with Dynamic Token Pooling", section 2.2).

A document is cut into segments of any length, and the vectors of each become one: their mean. Where the cuts are is for
the boundaries to say. Cost: O(length * dim).

A boundary that is learnt through the pooling itself gets its gradient as in the released code: token t belongs to
segment g with weight 1 - (g - c_t), where c_t counts the boundaries before it, divided by the segment's sum of weights.
The value is a plain mean, and the gradient asks a token within a segment whether those after it had better be apart.

Departures: the last real token always ends a segment (the released code drops what comes after the last boundary);
there is neither a null segment nor a shift, because an encoder has no future to hide; no layer normalisation of its
own follows; no matrix of length x segments is made.
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
from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import States
from sumpool.core.pooling._base import Pooled, Pooler, PoolerConfig, leave
from sumpool.core.tokens import Tokens
from sumpool.variants import OneOf


@final
class SegmentsPoolerConfig(PoolerConfig):
    """Settings of the pooling of segments."""

    kind: Literal["segments"] = "segments"
    boundaries: Annotated[BoundariesConfig, OneOf("sumpool.core.boundaries")] = FixedBoundariesConfig()
    """Where segments end."""
    combine: Literal["mean", "last"] = "mean"
    """Whether a segment becomes the mean of its vectors or the last of them (appendix A)."""

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
    """The segments of a batch, those of a document one after another.

    Attributes:
        number: (batch, length), segment of each token, from 0; any at padding.
        first: (batch, segments), index of the first token of each.
        last: (batch, segments), index of the last token of each.
        mask: (batch, segments), True at real segments, which stand first.
    """

    number: Tensor
    first: Tensor
    last: Tensor
    mask: Tensor

    @classmethod
    def of(cls, ends: Tensor, mask: Tensor) -> "Segments":
        """Cut documents.

        Args:
            ends: (batch, length), above one half where a segment ends; any value at padding.
            mask: (batch, length), True at real tokens, the last of which always ends a segment.
        """
        final_token = mask & ~F.pad(mask[:, 1:], (0, 1))
        closing = mask & ((ends.detach() > 0.5) | final_token)
        closed = closing.cumsum(1)
        count = closing.sum(1)
        order = torch.arange(max(1, int(count.max())), device=mask.device)
        last = torch.searchsorted(closed, (order + 1).expand(len(mask), -1).contiguous())  # (batch, segments)
        return cls(
            number=(closed - closing.long()).clamp(max=len(order) - 1),
            first=F.pad(last[:, :-1] + 1, (1, 0)),
            last=last.clamp(max=mask.size(1) - 1),  # what is searched in vain is found behind the end
            mask=order < count[:, None],
        )

    def mean(self, states: Tensor, weights: Tensor) -> Tensor:
        """Average the vectors of each segment: (batch, segments, dim), 0 at padding.

        Args:
            states: (batch, length, dim), 0 at padding.
            weights: (batch, length), 0 at padding.
        """
        batch, segments = self.mask.shape
        slot = (self.number + segments * torch.arange(batch, device=states.device)[:, None]).flatten()
        weighted = (states * weights[..., None]).flatten(0, 1)
        total = weighted.new_zeros(batch * segments, states.size(2)).index_add(0, slot, weighted)
        weight = weights.new_zeros(batch * segments).index_add(0, slot, weights.flatten())
        return (total / torch.where(self.mask.flatten(), weight, 1.0)[:, None]).view(batch, segments, -1)

    def means(self, dtype: torch.dtype) -> Mixture:
        """Say who stands behind the mean of each segment: all its tokens alike."""
        longest = int((self.last - self.first).masked_fill(~self.mask, 0).max()) + 1
        members = self.first[..., None] + torch.arange(longest, device=self.first.device)
        inside = (members <= self.last[..., None]) & self.mask[..., None]  # (batch, segments, longest)
        weights = inside.to(dtype) / inside.sum(2, keepdim=True).clamp(min=1)
        return Mixture(members.masked_fill(~inside, 0), weights, self.mask)

    def representatives(self, dtype: torch.dtype) -> Mixture:
        """Say who stands behind the last vector of each segment: itself."""
        return Mixture(self.last[..., None], self.mask[..., None].to(dtype), self.mask)


def memberships(ends: Tensor, mask: Tensor) -> Tensor:
    """Weigh each token in its segment: the value is 1, the derivative by every end before the token is 1.

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
    """Leaves one vector of every segment."""

    def __init__(self, config: SegmentsPoolerConfig, boundaries: Boundaries) -> None:
        super().__init__()
        self.combine = config.combine
        self.boundaries = boundaries

    def forward(self, tokens: Tokens, vectors: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, segments, dim), as many as the document with the most has."""
        tokens = vectors.all() if vectors else tokens
        found = self.boundaries(tokens)
        segments = Segments.of(found.ends, tokens.mask)
        if self.combine == "mean":
            states = zero_padding(tokens.states, tokens.mask)
            means = segments.mean(at_least_float32(states), memberships(found.ends, tokens.mask))
            left = leave(tokens, means.to(states.dtype), segments.mask, segments.last)
            mixture = partial(segments.means, states.dtype)
        else:
            index = segments.last[..., None].expand(-1, -1, tokens.states.size(2))
            left = leave(tokens, tokens.states.gather(1, index), segments.mask, segments.last)
            mixture = partial(segments.representatives, tokens.states.dtype)
        shortening = tokens.mask.sum() / segments.mask.sum()
        return Pooled(replace(left, losses=found.losses, metrics={"shortening": shortening}), mixture)
