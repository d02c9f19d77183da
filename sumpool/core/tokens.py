"""The value that travels through the encoder."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

AttentionReceived = Callable[[bool], Tensor]
"""Gives the attention that each token got, (batch, length); told whether what a token gives itself counts."""


@dataclass(frozen=True)
class Tokens:
    """Vectors of a batch of documents, in source order, with what is known of where they come from.

    Attributes:
        states: (batch, length, dim).
        mask: (batch, length), True at real tokens, which stand first. Whatever stands at False never reaches a result.
        positions: (batch, length), place in the source; a pooled vector has that of its heaviest source token.
        sentences: (batch, length), number of the sentence that the vector belongs to.
        words: (batch, length), number of the word that the vector belongs to.
        ids: (batch, length), vocabulary piece of the heaviest source token.
        origin: (batch, length), index of the heaviest source token.
        phrases: (batch, length), number of the phrase that the vector belongs to, as a teacher sees it; None where
            nobody teaches.
        attention_received: Returns the attention that each token received in the previous layer, computed on call; None
            ahead of the first layer.
        first: (batch,), number of each row's first vector in its document, where rows are blocks of documents; None
            where they are whole.
        full: Whether no row has padding, as far as is known without asking the device.
        losses: Auxiliary losses by name, scalars; `train.loss_weights` weighs them.
        metrics: Signs of health by name, detached scalars; the journal shows them.
    """

    states: Tensor
    mask: Tensor
    positions: Tensor
    sentences: Tensor
    words: Tensor
    ids: Tensor
    origin: Tensor
    phrases: Tensor | None = None
    attention_received: AttentionReceived | None = None
    first: Tensor | None = None
    full: bool = False
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def from_source(
        cls,
        states: Tensor,
        mask: Tensor,
        sentences: Tensor,
        words: Tensor,
        ids: Tensor,
        phrases: Tensor | None = None,
    ) -> "Tokens":
        """Start the way through the encoder: every vector is its own source token."""
        positions = torch.arange(states.size(1), device=states.device).expand(mask.shape)
        return cls(states, mask, positions, sentences, words, ids, positions, phrases)

    @property
    def indices(self) -> Tensor:
        """(batch, length), the number of each vector in its document."""
        inside = torch.arange(self.mask.size(1), device=self.mask.device)
        return inside.expand(self.mask.shape) if self.first is None else self.first[:, None] + inside

    def with_states(self, states: Tensor) -> "Tokens":
        """The same tokens with other vectors (batch, length, dim)."""
        return replace(self, states=states)
