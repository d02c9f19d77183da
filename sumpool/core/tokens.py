"""The value that travels through the encoder."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """Vectors of a batch of documents, in source order, with what is known of where they come from.

    Attributes:
        states: (batch, length, dim).
        mask: (batch, length), True at real tokens. Whatever stands at False never reaches a result.
        positions: (batch, length), place in the source; a pooled vector has that of its heaviest source token.
        sentences: (batch, length), number of the sentence that the vector belongs to.
        origin: (batch, length), index of the heaviest source token.
        losses: Auxiliary losses by name, scalars; `train.loss_weights` weighs them.
    """

    states: Tensor
    mask: Tensor
    positions: Tensor
    sentences: Tensor
    origin: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def from_source(cls, states: Tensor, mask: Tensor, sentences: Tensor) -> "Tokens":
        """Start the way through the encoder: every vector is its own source token."""
        positions = torch.arange(states.size(1), device=states.device).expand(mask.shape)
        return cls(states, mask, positions, sentences, positions)

    def with_states(self, states: Tensor) -> "Tokens":
        """The same tokens with other vectors (batch, length, dim)."""
        return replace(self, states=states)
