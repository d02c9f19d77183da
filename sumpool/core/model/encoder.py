"""The encoder: self-attention layers with poolers between them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import SoftmaxAttention
from sumpool.core.model.chunked_encoding import group_layers, run_in_blocks
from sumpool.core.model.config import EncoderLayerConfig, ModelConfig
from sumpool.core.nn.execution import run_layer
from sumpool.core.nn.layers import FeedForward, Residual
from sumpool.core.nn.positions import Embed
from sumpool.core.nn.states import Mixture, Mixtures
from sumpool.core.pooling._base import Pooled, Pooler
from sumpool.core.tokens import Tokens

Projection = Callable[[Tensor], Tensor]
"""Map of each state by itself: (..., dim) -> (..., features)."""


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
        states = tokens.zero_padded().states
        prepared = tokens.with_states(self.attention_residual.prepare(states))
        states = self.attention_residual.add(states, self.attention(prepared))
        received = None
        if isinstance(self.attention, SoftmaxAttention):
            received = partial(self.attention.attention_received, prepared)
        states = self.feed_forward_residual(states, self.feed_forward)
        return replace(tokens, states=states, attention_received=received)


@dataclass(frozen=True)
class EncoderOutput:
    """Encoded documents.

    Attributes:
        memory: Output of the last layer or pooling, the input of cross-attention.
        source: Projection of the states before the first pooling, one for each source token.
        mixtures: Weights of each pooling, first to last; empty where `restore` has undone them.
    """

    memory: Tokens
    source: Tokens
    mixtures: Mixtures


def identity(states: Tensor) -> Tensor:
    """Return the states."""
    return states


@final
class Encoder(nn.Module):
    """Transformer encoder over whole documents.

    Attributes:
        chunked: Whether documents are encoded in chunks of blocks (`sumpool.core.model.chunked_encoding`), with equal
            results. By default they are where any layer attends inside blocks: time then follows the real tokens of a
            batch.
    """

    word_starts: Tensor

    def __init__(self, config: ModelConfig, embedding: nn.Embedding, word_starts: Tensor) -> None:
        super().__init__()
        self.embed = config.build_embed(embedding, config.positions, config.source_length)
        self.restore = config.restore
        self.checkpoint_activations = False
        layers = [EncoderLayer(layer, config) for layer in config.encoder]
        self.layers = nn.ModuleList(layers)
        self.poolers = nn.ModuleDict(
            {str(index): layer.pool.build(embedding) for index, layer in enumerate(config.encoder) if layer.pool}
        )
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.register_buffer("word_starts", word_starts, persistent=False)
        pooled = [index for index, layer in enumerate(config.encoder) if layer.pool]
        self.groups = group_layers([layer.attention.block for layer in layers], pooled)
        self.chunked = any(group.block for group in self.groups)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        sentences: Tensor,
        phrases: Tensor | None = None,
        project_source: Projection = identity,
        *,
        lengths: Sequence[int] | None = None,
    ) -> EncoderOutput:
        """Encode documents.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            phrases: (batch, length), phrase number of each token, the reference of learned boundaries.
            project_source: Projection applied to each state before the first pooling (e.g. the pointer's keys).
            lengths: Real tokens of each document; None reads them from the mask, for which the host waits.
        """
        words = self.word_starts[ids].cumsum(1)
        no_states = self.embed.embedding.weight.new_empty(*ids.shape, 0)
        tokens = Tokens.from_source(no_states, mask, sentences, words, ids, phrases).with_lengths(lengths)
        poolers = {int(name): pooler for name, pooler in self.poolers.items() if isinstance(pooler, Pooler)}
        state_bytes = self.embed.embedding.embedding_dim * self.embed.embedding.weight.element_size()
        source: Tokens | None = None
        pooled_tokens: list[Tokens] = []  # input of each pooling, which `restore` needs
        mixtures: list[Callable[[], Mixture]] = []
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        for group in self.groups:
            tokens, layer = tokens.with_lengths(), group.layers[-1]
            run_layers = partial(self._run_layers, layers=group.layers)
            if group.block is not None and self.chunked:
                tokens = run_in_blocks(tokens, group.block, run_layers, state_bytes)
            else:
                tokens = run_layers(tokens).zero_padded()  # whole documents
            if layer not in poolers:
                continue
            if source is None:
                source = replace(tokens, states=project_source(tokens.states), attention_received=None)
            pooled: Pooled = poolers[layer](tokens)
            if self.restore:
                pooled_tokens.append(tokens)
            mixtures.append(pooled.mixture)
            for name, loss in pooled.tokens.losses.items():
                losses[name] = losses[name] + loss if name in losses else loss
            metrics |= {f"layer_{layer + 1}.{name}": value for name, value in pooled.tokens.metrics.items()}
            tokens = replace(pooled.tokens, losses={}, metrics={})
        if source is None:
            source = tokens.with_states(project_source(tokens.states))
        if pooled_tokens:
            tokens, mixtures = _restore(tokens, pooled_tokens, mixtures), []
        memory = replace(tokens, states=self.norm(tokens.states), losses=losses, metrics=metrics)
        return EncoderOutput(memory, source, mixtures)

    def _run_layers(self, tokens: Tokens, layers: range) -> Tokens:
        """Apply some layers to documents, or to blocks as if they were documents; embed the input of the first."""
        if layers.start == 0:
            tokens = tokens.with_states(self.embed(tokens.ids, tokens.mask, tokens.positions))
        for index in layers:
            tokens = run_layer(self.layers[index], tokens, checkpointed=self.checkpoint_activations)
        return tokens


def _restore(tokens: Tokens, pooled: Sequence[Tokens], mixtures: Mixtures) -> Tokens:
    """Undo poolings of some tokens, last to first, and add the input of the first one (Dai et al., 2020)."""
    states = tokens.states
    for before, mixture in zip(reversed(pooled), reversed(mixtures), strict=True):
        states = mixture().upsample(states, before.mask.size(1))
    return pooled[0].with_states(pooled[0].states + states)


def initialise_linear(parts: Iterable[nn.Module]) -> None:
    """Initialise the linear layers of modules by Xavier, without bias."""
    for part in parts:
        for module in part.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)


def initialise_embeddings(embedding: nn.Embedding, inputs: Iterable[Embed], pad: int) -> None:
    """Initialise embeddings of tokens and positions with unit length on average, and that of padding with zeros."""
    std = embedding.embedding_dim**-0.5
    nn.init.normal_(embedding.weight, std=std)
    for embed in inputs:
        if embed.positions is not None:
            nn.init.normal_(embed.positions.weight, std=embed.scale * std)
    with torch.no_grad():
        embedding.weight[pad].zero_()
