"""Record of the poolings of one encoder pass."""

from collections.abc import Callable
from dataclasses import replace
from typing import final

from torch import Tensor

from sumpool.core.nn.states import EagerStates, Mixture
from sumpool.core.pooling._base import Pooled, Pooler
from sumpool.core.tokens import Tokens

Projection = Callable[[Tensor], Tensor]
"""Map of each state by itself: (..., dim) -> (..., features)."""


def identity(states: Tensor) -> Tensor:
    """Return the states."""
    return states


def drop_features(states: Tensor) -> Tensor:
    """Return states without features: (..., dim) -> (..., 0)."""
    return states[..., :0]


@final
class PoolingTrace:
    """Applies poolers and collects what the result of the encoder needs of them.

    Attributes:
        project_source: Projection applied to the states before the first pooling.
        keep_inputs: Whether the input of every pooling is kept, which `restore` needs.
        source: Tokens before the first pooling with projected states, one per source token; None before it.
        mixtures: Weights of each pooling, first to last, computed on call.
        losses: Sum over the poolings of each auxiliary loss.
        metrics: Metrics of each pooling, named after the layer before it.
    """

    def __init__(self, project_source: Projection, keep_inputs: bool) -> None:
        self.project_source = project_source
        self.keep_inputs = keep_inputs
        self.source: Tokens | None = None
        self.mixtures: list[Callable[[], Mixture]] = []
        self.losses: dict[str, Tensor] = {}
        self.metrics: dict[str, Tensor] = {}
        self._inputs: list[Tokens] = []

    def pool(self, pooler: Pooler, tokens: Tokens, layer: int) -> Tokens:
        """Pool the output of the layer with this index (counted from 0) and record the pooling."""
        states = EagerStates(tokens)
        tokens = states.all()
        if self.source is None:
            self.source = replace(tokens, states=self.project_source(tokens.states), attention_received=None)
        if self.keep_inputs:
            self._inputs.append(tokens)
        return self.record(pooler(tokens, states), layer)

    def record(self, pooled: Pooled, layer: int) -> Tokens:
        """Record the result of a pooling; return its tokens without losses and metrics."""
        for name, loss in pooled.tokens.losses.items():
            self.losses[name] = self.losses[name] + loss if name in self.losses else loss
        self.metrics |= {f"layer_{layer + 1}.{name}": value for name, value in pooled.tokens.metrics.items()}
        self.mixtures.append(pooled.mixture)
        return replace(pooled.tokens, losses={}, metrics={})

    def restore(self, tokens: Tokens) -> Tokens:
        """Undo the recorded poolings, last to first, and add the input of the first one (Dai et al., 2020)."""
        if not self._inputs:
            return tokens
        states = tokens.states
        for before, mixture in zip(reversed(self._inputs), reversed(self.mixtures), strict=True):
            states = mixture().upsample(states, before.mask.size(1))
        self.mixtures = []
        source = self._inputs[0]
        return source.with_states(source.states + states)
