"""The encoder's layers, and which of them run together."""

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from torch import nn

from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.nn.blocks import Residual
from sumpool.core.nn.feed_forward import FeedForward
from sumpool.core.nn.masking import hide
from sumpool.core.tokens import Tokens


@final
class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each in a residual sum: Tokens -> Tokens of the same length."""

    def __init__(self, layer: EncoderLayerConfig, model: ModelConfig) -> None:
        super().__init__()
        self.attention = layer.attention.build(model.dim, model.heads)
        self.feed_forward = FeedForward(model.dim, model.feed_forward, model.activation)
        self.around_attention = Residual(model.dim, model.norm, model.dropout)
        self.around_feed_forward = Residual(model.dim, model.norm, model.dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Mix the vectors of each document."""
        states = tokens.states if tokens.full else hide(tokens.states, tokens.mask)
        prepared = self.around_attention.prepare(states)
        mixed = self.attention(prepared, None if tokens.full else tokens.mask, tokens.positions)
        states = self.around_attention.add(states, mixed)
        received = partial(self.attention.mass, prepared, tokens.mask, tokens.positions)
        return replace(tokens, states=self.around_feed_forward(states, self.feed_forward), received=received)


@dataclass(frozen=True)
class Run:
    """Consecutive layers, with no pooling between them.

    Attributes:
        layers: Their numbers.
        block: Cut after every so many tokens, the pieces of a document may run through all of them one by one; None
            where a document has to run through them in one piece.
    """

    layers: range
    block: int | None


def find_runs(layers: Iterable[EncoderLayer], pooled: Container[int]) -> list[Run]:
    """Put layers together as far as blocks may pass through them by themselves.

    Args:
        layers: First to last.
        pooled: Numbers of the layers after which vectors are pooled, counted from 0.
    """
    runs: list[Run] = []
    for number, layer in enumerate(layers):
        block, start = layer.attention.block, number
        if runs and number - 1 not in pooled and (runs[-1].block is None) == (block is None):
            before = runs.pop()
            start = before.layers.start
            block = before.block and block and math.lcm(before.block, block)
        runs.append(Run(range(start, number + 1), block))
    return runs
