"""Encoder states before a pooling: interface and materialised form."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

from torch import Tensor

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.mixture import Mixture
from sumpool.core.tokens import Tokens


class States(ABC):
    """States (batch, length, dim) that a pooler scores and mixes; they need not be in memory all at once for that."""

    @abstractmethod
    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Apply a scorer of single states or blocks: (batch, length), any value at padding."""

    @abstractmethod
    def mix(self, mixture: Mixture) -> Tensor:
        """Return the weighted sums (batch, keep, dim), 0 at padding; each state is a member of at most one sum."""

    @abstractmethod
    def all(self) -> Tokens:
        """Materialise all states, 0 at padding."""


@final
class EagerStates(States):
    """States in memory."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens.with_states(zero_padding(tokens.states, tokens.mask))

    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score all states at once."""
        return scorer(self._tokens)

    def mix(self, mixture: Mixture) -> Tensor:
        """Combine all states at once."""
        return mixture.combine(self._tokens.states)

    def all(self) -> Tokens:
        """Return the tokens."""
        return self._tokens
