"""Weighted sums of states that a pooling takes, and segments of documents (Nawrot et al., 2023, section 2.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly


@dataclass(frozen=True)
class Mixture:
    """Weights of a pooling: each pooled state is a weighted sum of states before the pooling, its members.

    Attributes:
        members: (batch, keep, members), index of each member; any index where the weight is 0.
        weights: (batch, keep, members), non-negative; sums to 1 over the members of a real state.
        mask: (batch, keep), True at real states, which stand first.
    """

    members: Tensor
    weights: Tensor
    mask: Tensor

    @classmethod
    def join_computed(cls, parts: Sequence[Callable[[], "Mixture"]]) -> "Mixture":
        """Compute mixtures and batch them, padded to the most pooled states and members."""
        mixtures = [part() for part in parts]
        keep, members = (max(mixture.members.size(axis) for mixture in mixtures) for axis in (1, 2))
        padded = [mixture.padded(keep, members) for mixture in mixtures]
        members_, weights, mask = zip(*((part.members, part.weights, part.mask) for part in padded), strict=True)
        return cls(torch.cat(members_), torch.cat(weights), torch.cat(mask))

    def padded(self, keep: int, members: int | None = None) -> "Mixture":
        """Return the same weights with padding up to `keep` pooled states, of `members` members each if given."""
        more_members = 0 if members is None else members - self.members.size(2)
        rest = (0, more_members, 0, keep - self.mask.size(1))
        return Mixture(F.pad(self.members, rest), F.pad(self.weights, rest), F.pad(self.mask, rest[2:]))

    def combine(self, states: Tensor) -> Tensor:
        """Return the weighted sums of states (batch, length, dim): (batch, keep, dim), 0 at padding."""
        batch, keep, members = self.members.shape
        offsets = torch.arange(batch, device=states.device)[:, None, None] * states.size(1)
        # An embedding bag reads every state once and needs no memory of size (batch, keep, members, dim).
        mixed = F.embedding_bag(
            (self.members + offsets).view(batch * keep, members),
            states.flatten(0, 1),  # (batch * length, dim)
            per_sample_weights=self.weights.reshape(batch * keep, members).to(states.dtype),
            mode="sum",
        )
        return zero_padding(mixed.view(batch, keep, -1), self.mask)

    def matrix(self, length: int) -> Tensor:
        """Return the dense weights over the `length` states before the pooling: (batch, keep, length), 0 at padding."""
        batch, keep, _ = self.members.shape
        weights = self.weights * self.mask[..., None]
        return weights.new_zeros(batch, keep, length).scatter_add(2, self.members, weights)

    def upsample(self, states: Tensor, length: int) -> Tensor:
        """Undo the pooling: each state before it becomes the weighted mean of the pooled states that it is a member of.

        Args:
            states: (batch, keep, dim), the pooled states.
            length: Number of states before the pooling.

        Returns:
            (batch, length, dim), 0 at members of no pooled state. No gradient reaches the weights.
        """
        batch = self.members.size(0)
        index = self.members.reshape(batch, -1)  # (batch, keep * members)
        weights = (self.weights.detach() * self.mask[..., None]).view_as(index)
        total = weights.new_zeros(batch, length).scatter_add(1, index, weights)
        # Shares, and not sums divided by the total: its inverse overflows where a total is below 1e-38.
        share = (weights / total.masked_fill(total == 0, 1.0).gather(1, index)).to(states.dtype)
        weighted = zero_padding(states, self.mask)[:, :, None] * share.view(*self.members.shape, 1)
        weighted = weighted.flatten(1, 2)  # (batch, keep * members, dim)
        upsampled = states.new_zeros(batch, length, states.size(2))
        return upsampled.scatter_add(1, index[..., None].expand(-1, -1, states.size(2)), weighted)


Mixtures = Sequence[Callable[[], Mixture]]
"""Weights of each pooling, first to last, computed on call."""


def compose(mixtures: Mixtures, length: int) -> Tensor | None:
    """Compose poolings: weight of every source token in every state after the last one, (batch, keep, length).

    Poolings may differ in the precision of their weights; products are in at least single precision.

    Args:
        mixtures: Weights of the poolings; None is returned where there are none.
        length: Number of states before the first pooling.
    """
    weights: Tensor | None = None
    for mixture in mixtures:
        matrix = at_least_float32(mixture().matrix(length if weights is None else weights.size(1)))
        weights = matrix if weights is None else matmul_exactly(matrix, weights)
    return weights


@dataclass(frozen=True)
class Segments:
    """Segments of a batch of documents.

    Encoders pool all tokens, since the end of a document ends a segment. Language models leave the tokens after the
    last end out, since a segment that is not complete may not be seen (`open_end`).

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

    Boundaries that are trained through the pooling get their gradient as in the released code: token t belongs to
    segment g with weight 1 - (g - c_t), where c_t counts the boundaries before t, divided by the segment's sum of
    weights. The value is a plain mean; the gradient at a token inside a segment tells whether splitting the segment
    there lowers the loss. No matrix of length x segments is materialised.

    Args:
        ends: (batch, length), any value at padding.
        mask: (batch, length), True at real tokens.

    Returns:
        (batch, length), in at least single precision; 0 at padding.
    """
    ends = at_least_float32(ends).masked_fill(~mask, 0.0)
    before = ends.cumsum(1) - ends
    return (1.0 + (before - before.detach())).masked_fill(~mask, 0.0)
