"""The vectors before a pooling."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

from torch import Tensor

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.mixture import Mixture
from sumpool.core.tokens import Tokens


class States(ABC):
    """Vectors (batch, length, dim), which need not all be held where scores and sums are all that is asked for."""

    @abstractmethod
    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score each (batch, length), by itself or by its block; any value at padding."""

    @abstractmethod
    def mix(self, mixture: Mixture) -> Tensor:
        """Mix those behind every vector that is left, each behind one at most: (batch, keep, dim), 0 at padding."""

    @abstractmethod
    def all(self) -> Tokens:
        """Hold them all, 0 at padding."""


@final
class EagerStates(States):
    """Vectors that are held already."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens.with_states(zero_padding(tokens.states, tokens.mask))

    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score them all at once."""
        return scorer(self._tokens)

    def mix(self, mixture: Mixture) -> Tensor:
        """Mix them all at once."""
        return mixture.combine(self._tokens.states)

    def all(self) -> Tokens:
        """Give them."""
        return self._tokens
