"""Arithmetic of segments: from their ends to index, mean and gradient (Nawrot et al., 2023, section 2.2).

Encoders pool all tokens, since the end of a document ends a segment. Language models leave the tokens after the last
end out, since a segment that is not complete may not be seen (`open_end`).

Boundaries that are trained through the pooling get their gradient as in the released code: token t belongs to segment g
with weight 1 - (g - c_t), where c_t counts the boundaries before t, divided by the segment's sum of weights. The value
is a plain mean; the gradient at a token inside a segment tells whether splitting the segment there lowers the loss. No
matrix of length x segments is materialised.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import Mixture


@dataclass(frozen=True)
class Segments:
    """Segments of a batch of documents.

    Attributes:
        index: (batch, length), segment index of each token, from 0; undefined at padding.
        first: (batch, segments), index of the first token of each segment.
        last: (batch, segments), index of the last token of each segment.
        mask: (batch, segments), True at real segments, which come first.
        counts: Real segments of each document, on the host, which waits for them.
        inside: (batch, length), True at tokens of a real segment.
        ended: (batch, length), number of segments that end at or before each token.
    """

    index: Tensor
    first: Tensor
    last: Tensor
    mask: Tensor
    counts: list[int]
    inside: Tensor
    ended: Tensor

    @classmethod
    def from_ends(cls, ends: Tensor, mask: Tensor, open_end: bool = False) -> "Segments":
        """Split documents at segment ends.

        Args:
            ends: (batch, length), above 0.5 where a segment ends; any value at padding.
            mask: (batch, length), True at real tokens, the last of which ends a segment.
            open_end: Whether the last real token ends a segment only if `ends` says so; tokens after the last end are
                then in no segment.
        """
        is_end = ends.detach() > 0.5
        if not open_end:
            is_end = is_end | ~F.pad(mask[:, 1:], (0, 1))
        is_end = mask & is_end
        end_count = is_end.cumsum(1)
        count = is_end.sum(1)
        counts = count.tolist()
        order = torch.arange(max([1, *counts]), device=mask.device)
        last = torch.searchsorted(end_count, (order + 1).expand(len(mask), -1).contiguous())  # (batch, segments)
        index = end_count - is_end.long()
        return cls(
            index=index.clamp(max=len(order) - 1),
            first=F.pad(last[:, :-1] + 1, (1, 0)),
            last=last.clamp(max=mask.size(1) - 1),  # searchsorted returns length for missing segments
            mask=order < count[:, None],
            counts=counts,
            inside=mask & (index < count[:, None]),
            ended=end_count,
        )

    def mean(self, states: Tensor, weights: Tensor) -> Tensor:
        """Weighted mean of the vectors of each segment, (batch, segments, dim), 0 at padding.

        Args:
            states: (batch, length, dim), finite everywhere.
            weights: (batch, length), 0 outside segments.
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
