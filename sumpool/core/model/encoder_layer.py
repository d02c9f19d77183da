"""One layer of the encoder."""

from dataclasses import replace
from functools import partial
from typing import final

from torch import nn

from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.nn.layers import FeedForward, Residual
from sumpool.core.nn.masking import zero_padding
from sumpool.core.tokens import Tokens


@final
class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with a residual connection: Tokens -> Tokens of the same length."""

    def __init__(self, layer: EncoderLayerConfig, model: ModelConfig) -> None:
        super().__init__()
        self.attention = layer.attention.build(model.dim, model.heads)
        self.feed_forward = FeedForward(model.dim, model.feed_forward, model.activation)
        self.attention_residual = Residual(model.dim, model.norm, model.dropout)
        self.feed_forward_residual = Residual(model.dim, model.norm, model.dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Apply the layer to documents (batch, length), or to blocks of documents as if they were documents."""
        states = tokens.states if tokens.full else zero_padding(tokens.states, tokens.mask)
        prepared = self.attention_residual.prepare(states)
        mixed = self.attention(prepared, None if tokens.full else tokens.mask, tokens.positions)
        states = self.attention_residual.add(states, mixed)
        attention_received = partial(self.attention.attention_received, prepared, tokens.mask, tokens.positions)
        states = self.feed_forward_residual(states, self.feed_forward)
        return replace(tokens, states=states, attention_received=attention_received)
