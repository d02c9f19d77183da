"""The encoder: attention layer by layer, with poolings between them."""

from dataclasses import dataclass
from typing import final

from torch import Tensor, nn

from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.nn.blocks import Residual
from sumpool.core.nn.feed_forward import FeedForward
from sumpool.core.nn.masking import hide
from sumpool.core.nn.positions import sinusoid
from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class Encoded:
    """What the encoder leaves of the documents.

    Attributes:
        memory: The vectors that cross-attention sees, after every layer and every pooling.
        source: The vectors before the first pooling, one for each source token; whoever reads them normalises them.
    """

    memory: Tokens
    source: Tokens


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
        states = hide(tokens.states, tokens.mask)
        states = self.around_attention(states, lambda mixed: self.attention(mixed, tokens.mask))
        return tokens.with_states(self.around_feed_forward(states, self.feed_forward))


@final
class Encoder(nn.Module):
    """Reads whole documents."""

    def __init__(self, config: ModelConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(layer, config) for layer in config.encoder)
        self.poolers = nn.ModuleDict(
            {str(number): layer.pool.build(config.dim) for number, layer in enumerate(config.encoder) if layer.pool}
        )
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()

    def forward(self, ids: Tensor, mask: Tensor, sentences: Tensor) -> Encoded:
        """Encode ids (batch, length), True in mask at real tokens, with the sentence number of each."""
        states = self.embedding(ids) * self.embedding.embedding_dim**0.5
        tokens = Tokens.from_source(states, mask, sentences)
        states = self.dropout(states + sinusoid(tokens.positions, states.size(-1)).to(states.dtype))
        tokens = tokens.with_states(states)
        source: Tokens | None = None
        for number, layer in enumerate(self.layers):
            tokens = layer(tokens)
            if str(number) in self.poolers:
                source = source or tokens
                tokens = self.poolers[str(number)](tokens)
        return Encoded(tokens.with_states(self.norm(tokens.states)), source or tokens)
