"""The vectors before a pooling."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

from torch import Tensor

from sumpool.core.nn.mixture import Mixture
from sumpool.core.tokens import Tokens


class Vectors(ABC):
    """The vectors (batch, length, dim) before a pooling, which need not all be held at the same time."""

    @abstractmethod
    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score each (batch, length); any value at padding."""

    @abstractmethod
    def mix(self, mixture: Mixture) -> Tensor:
        """Mix those behind every vector that is left, each behind one at most: (batch, keep, dim), 0 at padding."""


@final
class AtHand(Vectors):
    """Vectors that are held, those of `tokens`, which are 0 at padding."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def score(self, scorer: Callable[[Tokens], Tensor]) -> Tensor:
        """Score them all at once."""
        return scorer(self._tokens)

    def mix(self, mixture: Mixture) -> Tensor:
        """Mix them all at once."""
        return mixture.combine(self._tokens.states)
