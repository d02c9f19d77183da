"""The value that travels through the encoder."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

AttentionReceived = Callable[[bool], Tensor]
"""Returns the attention that each token received, (batch, length); the argument: whether attention to itself counts."""


@dataclass(frozen=True)
class Tokens:
    """States of a batch of documents in source order, with their origin in the source.

    Attributes:
        states: (batch, length, dim).
        mask: (batch, length), True at real tokens, which stand first. Values at False never reach a result.
        positions: (batch, length), position in the source; a pooled state has that of its heaviest source token.
        sentences: (batch, length), sentence number of each state.
        words: (batch, length), word number of each state.
        ids: (batch, length), token id of the heaviest source token.
        origin: (batch, length), index of the heaviest source token.
        phrases: (batch, length), phrase number of each state, the reference of learned boundaries; None without one.
        attention_received: Returns the attention that each token received in the previous layer, computed on call; None
            before the first layer.
        first: (batch,), index of the first state of each row in its document, where rows are blocks of documents; None
            where rows are whole documents.
        full: Whether no row is padded, as far as that is known without synchronising with the device.
        losses: Auxiliary losses by name, scalars; weighted by `train.loss_weights`.
        metrics: Detached scalar metrics by name, logged to metrics.jsonl.
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
        """Return the input of the encoder: every state is its own source token."""
        positions = torch.arange(states.size(1), device=states.device).expand(mask.shape)
        return cls(states, mask, positions, sentences, words, ids, positions, phrases)

    @property
    def indices(self) -> Tensor:
        """(batch, length), index of each state in its document."""
        offset = torch.arange(self.mask.size(1), device=self.mask.device)
        return offset.expand(self.mask.shape) if self.first is None else self.first[:, None] + offset

    def with_states(self, states: Tensor) -> "Tokens":
        """Return the same tokens with other states (batch, length, dim)."""
        return replace(self, states=states)

    def with_full(self) -> "Tokens":
        """Return the same tokens with `full` computed from the mask, unless the values of the mask cannot be read."""
        return self if torch.compiler.is_exporting() else replace(self, full=bool(self.mask.all()))
