"""The encoder: attention layer by layer, with poolings between them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.model.blocks import Blocks
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.model.embed import Embed
from sumpool.core.nn.blocks import Residual
from sumpool.core.nn.feed_forward import FeedForward
from sumpool.core.nn.masking import hide
from sumpool.core.nn.mixture import Mixture, Mixtures
from sumpool.core.pooling._base import Pooled
from sumpool.core.tokens import Received, Tokens

_BYTES_AT_ONCE = 6 * 2**20
"""Vectors that run through the layers at a time, 2,048 of dim 768: linear maps run fastest at 512 to 2,048 rows, and
what one leaves is still in the cache when the next one reads it."""
_BYTES_AT_ONCE_ON_A_GPU = 2**28
"""Vectors that run through the layers at a time on a device that wants much to do at once: 87,381 of dim 768."""


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
        self.runs = self._find_runs()

    def forward(self, ids: Tensor, mask: Tensor, sentences: Tensor, phrases: Tensor | None = None) -> Encoded:
        """Encode ids (batch, length), True in mask at real tokens, with the sentence number of each.

        `phrases` (batch, length) numbers the phrases of a teacher of boundaries.
        """
        words = self.word_starts[ids].cumsum(1)
        nothing = self.embed.embedding.weight.new_empty(*ids.shape, 0)  # every run of layers makes its own vectors
        tokens = Tokens.from_source(nothing, mask, sentences, words, ids, phrases)
        before: list[Tokens] = []
        mixtures: list[Callable[[], Mixture]] = []
        for run in self.runs:
            tokens = self._read(tokens, run)
            number = run.layers[-1]
            if str(number) in self.poolers:
                before.append(replace(tokens, received=None))
                pooled = self._pool(tokens, number)
                tokens, mixtures = pooled.tokens, [*mixtures, pooled.mixture]
        source = before[0] if before else tokens
        if self.restore and before:
            tokens, mixtures = _restore(tokens, before, mixtures), []
        return Encoded(tokens.with_states(self.norm(tokens.states)), source, mixtures)

    def _find_runs(self) -> list[Run]:
        """Put layers together as far as blocks may pass through them by themselves."""
        runs: list[Run] = []
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, EncoderLayer)
            block, start = layer.attention.block, number
            if runs and str(number - 1) not in self.poolers and (runs[-1].block is None) == (block is None):
                before = runs.pop()
                start = before.layers.start
                block = before.block and block and math.lcm(before.block, block)
            runs.append(Run(range(start, number + 1), block))
        return runs

    def _read(self, tokens: Tokens, run: Run) -> Tokens:
        """Run documents through some layers, taken apart into blocks where these do not see further."""
        lengths = tokens.mask.sum(1).tolist()
        width = tokens.mask.size(1)
        if run.block is None:
            return self._pass(replace(tokens, full=all(length == width for length in lengths)), run)
        blocks = Blocks(tokens.mask, lengths, run.block, self._rows(tokens.mask.device))
        received: list[Received] = []

        def parts() -> Iterator[Tensor]:
            for chunk in blocks.chunks:
                found = self._pass(chunk.take(tokens), run)
                assert found.received is not None
                received.append(found.received)
                yield found.states

        states = blocks.join(parts())
        return replace(tokens, states=states, received=lambda itself: blocks.join(give(itself) for give in received))

    def _pass(self, tokens: Tokens, run: Run) -> Tokens:
        """Run documents, or blocks as if they were documents, through some layers; the first begin with ids."""
        if run.layers.start == 0:
            tokens = tokens.with_states(self.embed(tokens.ids, tokens.mask, tokens.positions))
        for number in run.layers:
            tokens = self.layers[number](tokens)
        return tokens

    def _rows(self, device: torch.device) -> int:
        """Say how many vectors run through the layers at a time."""
        at_once = _BYTES_AT_ONCE if device.type == "cpu" else _BYTES_AT_ONCE_ON_A_GPU
        weight = self.embed.embedding.weight
        return at_once // (weight.size(1) * weight.element_size())

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
