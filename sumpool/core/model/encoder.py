"""The encoder: attention layer by layer, with poolings between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.embed import Embed
from sumpool.core.nn.blocks import Residual
from sumpool.core.nn.feed_forward import FeedForward
from sumpool.core.nn.masking import hide
from sumpool.core.nn.mixture import Mixture, Mixtures
from sumpool.core.pooling._base import Pooled
from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class Encoded:
    """What the encoder leaves of the documents.

    Attributes:
        memory: The vectors that cross-attention sees, after every layer and every pooling.
        source: The vectors before the first pooling, one for each source token; whoever reads them normalises them.
        mixtures: What each pooling, first to last, made of the vectors before it; none where `restore` has undone them.
    """

    memory: Tokens
    source: Tokens
    mixtures: Mixtures


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
        prepared = self.around_attention.prepare(states)
        mixed = self.attention(prepared, tokens.mask, tokens.positions)
        states = self.around_attention.add(states, mixed)
        received = partial(self.attention.mass, prepared, tokens.mask, tokens.positions)
        return replace(tokens, states=self.around_feed_forward(states, self.feed_forward), received=received)


@final
class Encoder(nn.Module):
    """Reads whole documents."""

    word_starts: Tensor

    def __init__(self, config: ModelConfig, embedding: nn.Embedding, word_starts: Tensor) -> None:
        super().__init__()
        self.embed = Embed(embedding, config, config.positions, config.source_length)
        self.restore = config.restore
        self.layers = nn.ModuleList(EncoderLayer(layer, config) for layer in config.encoder)
        self.poolers = nn.ModuleDict(
            {str(number): layer.pool.build(embedding) for number, layer in enumerate(config.encoder) if layer.pool}
        )
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.register_buffer("word_starts", word_starts, persistent=False)

    def forward(self, ids: Tensor, mask: Tensor, sentences: Tensor, phrases: Tensor | None = None) -> Encoded:
        """Encode ids (batch, length), True in mask at real tokens, with the sentence number of each.

        `phrases` (batch, length) numbers the phrases of a teacher of boundaries.
        """
        tokens = self._embed(ids, mask, sentences, phrases)
        before: list[Tokens] = []
        mixtures: list[Callable[[], Mixture]] = []
        for number, layer in enumerate(self.layers):
            tokens = layer(tokens)
            if str(number) in self.poolers:
                before.append(tokens)
                pooled = self._pool(tokens, number)
                tokens, mixtures = pooled.tokens, [*mixtures, pooled.mixture]
        source = before[0] if before else tokens
        if self.restore and before:
            tokens, mixtures = _restore(tokens, before, mixtures), []
        return Encoded(tokens.with_states(self.norm(tokens.states)), source, mixtures)

    def _embed(self, ids: Tensor, mask: Tensor, sentences: Tensor, phrases: Tensor | None) -> Tokens:
        places = torch.arange(ids.size(1), device=ids.device).expand(ids.shape)
        words = self.word_starts[ids].cumsum(1)
        return Tokens.from_source(self.embed(ids, mask, places), mask, sentences, words, ids, phrases)

    def _pool(self, tokens: Tokens, number: int) -> Pooled:
        """Pool after a layer; its losses join those before it, and its figures are named after the layer."""
        pooled: Pooled = self.poolers[str(number)](replace(tokens, losses={}, figures={}))
        losses = dict(tokens.losses)
        for name, loss in pooled.tokens.losses.items():
            losses[name] = losses[name] + loss if name in losses else loss
        figures = {f"layer_{number + 1}.{name}": figure for name, figure in pooled.tokens.figures.items()}
        return replace(pooled, tokens=replace(pooled.tokens, losses=losses, figures=tokens.figures | figures))


def _restore(tokens: Tokens, before: Sequence[Tokens], mixtures: Mixtures) -> Tokens:
    """Undo the poolings, last to first, and add what the first of them was given."""
    states = tokens.states
    for earlier, mixture in zip(reversed(before), reversed(mixtures), strict=True):
        states = mixture().spread(states, earlier.mask.size(1))
    source = before[0]
    return replace(source, states=source.states + states, losses=tokens.losses, figures=tokens.figures)
