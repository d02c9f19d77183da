"""Weighted sums of states that a pooling takes."""

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
