"""The value that travels through the encoder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

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
        phrases: (batch, length), phrase number of each state, the reference of learned boundaries; None without one.
        attention_received: Returns the attention that each token received in the previous layer, computed on call; None
            before the first layer, and after attentions other than vanilla and blockwise.
        first: (batch,), index of the first state of each row in its document, where rows are blocks of documents; None
            where rows are whole documents.
        lengths: Real states of each row, on the host; None where the host does not know them.
        full: Whether no row is padded, as far as the host knows.
        losses: Auxiliary losses by name, scalars; weighted by `train.loss_weights`.
        metrics: Detached scalar metrics by name, logged to metrics.jsonl.
    """

    states: Tensor
    mask: Tensor
    positions: Tensor
    sentences: Tensor
    words: Tensor
    ids: Tensor
    phrases: Tensor | None = None
    attention_received: AttentionReceived | None = None
    first: Tensor | None = None
    lengths: Sequence[int] | None = None
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
        return cls(states, mask, positions, sentences, words, ids, phrases)

    @classmethod
    def of_states(cls, states: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> "Tokens":
        """Return tokens of whose source nothing is known; without a mask (batch, length) none is padding."""
        lengths = [states.size(1)] * len(states) if mask is None else None
        mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device) if mask is None else mask
        unknown = torch.zeros_like(mask, dtype=torch.long)
        tokens = cls.from_source(states, mask, unknown, unknown, unknown)
        positions = tokens.positions if positions is None else positions
        return replace(tokens, positions=positions, lengths=lengths, full=lengths is not None)

    @classmethod
    def join(cls, parts: Sequence["Tokens"]) -> "Tokens":
        """Batch tokens of one length, without losses, metrics and what their layer computed of them."""
        names = ("states", "mask", "positions", "sentences", "words", "ids")
        states, *others = (torch.cat([getattr(part, name) for part in parts]) for name in names)
        mask, positions, sentences, words, ids = others
        return cls(states, mask, positions, sentences, words, ids).with_lengths()

    @property
    def indices(self) -> Tensor:
        """(batch, length), index of each state in its document."""
        offset = torch.arange(self.mask.size(1), device=self.mask.device)
        return offset.expand(self.mask.shape) if self.first is None else self.first[:, None] + offset

    def with_states(self, states: Tensor) -> "Tokens":
        """Return the same tokens with other states (batch, length, dim)."""
        return replace(self, states=states)

    def zero_padded(self) -> "Tokens":
        """Return the same tokens with states that are 0 at padding; see `sumpool.core.nn.masking.zero_padding`."""
        return self if self.full else self.with_states(self.states.masked_fill(~self.mask[..., None], 0.0))

    def map_origins(self, function: Callable[[Tensor], Tensor]) -> "Tokens":
        """Apply a function to what is known of the source of each state: positions, sentences, ..., phrases."""
        names = ("positions", "sentences", "words", "ids", "phrases")
        values = {name: getattr(self, name) for name in names}
        changes: dict[str, Any] = {name: function(value) for name, value in values.items() if value is not None}
        return replace(self, **changes)

    def padded(self, length: int) -> "Tokens":
        """Return the same tokens with padding up to a length, without what their layer computed of them."""
        rest = (0, length - self.mask.size(1))
        return replace(
            self.map_origins(lambda values: F.pad(values, rest)),
            states=F.pad(self.states, (0, 0, *rest)),
            mask=F.pad(self.mask, rest),
            attention_received=None,
            full=self.full and not rest[1],
        )

    def with_lengths(self, lengths: Sequence[int] | None = None) -> "Tokens":
        """Return the same tokens with these `lengths` and what follows from them for `full`.

        Args:
            lengths: Real states of each row; None reads unknown ones from the mask, for which the host waits, unless
                its values cannot be read.
        """
        lengths = self.lengths if lengths is None else lengths
        if lengths is None:
            if torch.compiler.is_exporting():
                return self
            lengths = self.mask.sum(1).tolist()
        return replace(self, lengths=lengths, full=min(lengths, default=0) == self.mask.size(1))
