"""Weighted sums of vectors, and how to undo them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.masking import zero_padding


@dataclass(frozen=True)
class Mixture:
    """Who stands behind every vector that is left: each is a weighted sum of vectors before the pooling.

    Attributes:
        members: (batch, keep, members), index of each; any index where the weight is 0.
        weights: (batch, keep, members), not negative; sums to 1 over the members of a real vector.
        mask: (batch, keep), True at real vectors, which stand first.
    """

    members: Tensor
    weights: Tensor
    mask: Tensor

    def combine(self, states: Tensor) -> Tensor:
        """Mix the vectors (batch, length, dim) behind every one that is left: (batch, keep, dim), 0 at padding."""
        batch, keep, members = self.members.shape
        first = torch.arange(batch, device=states.device)[:, None, None] * states.size(1)
        # A bag reads every vector once and never lays (batch, keep, members, dim) out in memory.
        mixed = F.embedding_bag(
            (self.members + first).view(batch * keep, members),
            states.flatten(0, 1),  # (batch * length, dim)
            per_sample_weights=self.weights.reshape(batch * keep, members).to(states.dtype),
            mode="sum",
        )
        return zero_padding(mixed.view(batch, keep, -1), self.mask)

    def matrix(self, length: int) -> Tensor:
        """Write the weights out over the `length` vectors before the pooling: (batch, keep, length), 0 at padding."""
        batch, keep, _ = self.members.shape
        weights = self.weights * self.mask[..., None]
        return weights.new_zeros(batch, keep, length).scatter_add(2, self.members, weights)

    def spread(self, states: Tensor, length: int) -> Tensor:
        """Undo the pooling as far as that can be done: every vector before it gets back those that it stands behind.

        Args:
            states: (batch, keep, dim), one for every vector that is left.
            length: Vectors before the pooling.

        Returns:
            (batch, length, dim), the mean by weight; 0 where a vector stands behind none. No gradient reaches the
            weights.
        """
        batch = self.members.size(0)
        weights = self.weights.detach().to(states.dtype) * self.mask[..., None]
        index = self.members.reshape(batch, -1)  # (batch, keep * members)
        given = (zero_padding(states, self.mask)[:, :, None] * weights[..., None]).flatten(
            1, 2
        )  # (batch, keep * members, dim)
        total = weights.new_zeros(batch, length).scatter_add(1, index, weights.reshape(batch, -1))
        spread = states.new_zeros(batch, length, states.size(2))
        spread = spread.scatter_add(1, index[..., None].expand(-1, -1, states.size(2)), given)
        return spread / total.masked_fill(total == 0, 1.0)[..., None]


Mixtures = Sequence[Callable[[], Mixture]]
"""What each pooling, first to last, made of the vectors before it; worked out only when it is called."""


def compose(mixtures: Mixtures, length: int) -> Tensor | None:
    """Multiply poolings: (batch, keep, length), weight of every source token in every vector that the last one left.

    Args:
        mixtures: At least one, or the answer is None.
        length: Vectors before the first pooling.
    """
    weights: Tensor | None = None
    for mixture in mixtures:
        matrix = mixture().matrix(length if weights is None else weights.size(1))
        weights = matrix if weights is None else matrix @ weights
    return weights
