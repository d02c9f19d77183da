"""The encoder's layers, and which of them run together."""

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from torch import nn

from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.nn.layers import FeedForward, Residual
from sumpool.core.nn.masking import zero_padding
from sumpool.core.tokens import Tokens


@final
class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each in a residual sum: Tokens -> Tokens of the same length."""

    def __init__(self, layer: EncoderLayerConfig, model: ModelConfig) -> None:
        super().__init__()
        self.attention = layer.attention.build(model.dim, model.heads)
        self.feed_forward = FeedForward(model.dim, model.feed_forward, model.activation)
        self.attention_residual = Residual(model.dim, model.norm, model.dropout)
        self.feed_forward_residual = Residual(model.dim, model.norm, model.dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Mix the vectors of each document."""
        states = tokens.states if tokens.full else zero_padding(tokens.states, tokens.mask)
        prepared = self.attention_residual.prepare(states)
        mixed = self.attention(prepared, None if tokens.full else tokens.mask, tokens.positions)
        states = self.attention_residual.add(states, mixed)
        attention_received = partial(self.attention.attention_received, prepared, tokens.mask, tokens.positions)
        return replace(
            tokens, states=self.feed_forward_residual(states, self.feed_forward), attention_received=attention_received
        )


@dataclass(frozen=True)
class LayerGroup:
    """Consecutive layers, with no pooling between them.

    Attributes:
        layers: Their numbers.
        block: Cut after every so many tokens, the pieces of a document may run through all of them one by one; None
            where a document has to run through them in one piece.
    """

    layers: range
    block: int | None


def group_layers(layers: Iterable[EncoderLayer], pooled: Container[int]) -> list[LayerGroup]:
    """Put layers together as far as blocks may pass through them by themselves.

    Args:
        layers: First to last.
        pooled: Numbers of the layers after which vectors are pooled, counted from 0.
    """
    runs: list[LayerGroup] = []
    for number, layer in enumerate(layers):
        block, start = layer.attention.block, number
        if runs and number - 1 not in pooled and (runs[-1].block is None) == (block is None):
            before = runs.pop()
            start = before.layers.start
            block = before.block and block and math.lcm(before.block, block)
        runs.append(LayerGroup(range(start, number + 1), block))
    return runs
