"""The decoder: writes a summary token by token from what the encoder left."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.model.config import ModelConfig
from sumpool.core.nn.blocks import Residual
from sumpool.core.nn.feed_forward import FeedForward
from sumpool.core.nn.heads import merge_heads, split_heads
from sumpool.core.nn.masking import hide
from sumpool.core.nn.positions import sinusoid
from sumpool.core.tokens import Tokens
from sumpool.pieces import PAD


@dataclass(frozen=True)
class Written:
    """Keys and values of what one layer has written so far, (rows, heads, written, head_dim) each."""

    key: Tensor
    value: Tensor

    def append(self, key: Tensor, value: Tensor) -> "Written":
        """Add the newest token's, (rows, heads, 1, head_dim) each."""
        return Written(torch.cat([self.key, key], dim=2), torch.cat([self.value, value], dim=2))

    def take(self, rows: Tensor) -> "Written":
        """Follow other hypotheses."""
        return Written(self.key.index_select(0, rows), self.value.index_select(0, rows))


@final
class CausalAttention(nn.Module):
    """Self-attention of the summary: a token sees itself and what was written before it."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, states: Tensor) -> Tensor:
        """Mix a whole summary (batch, target, dim)."""
        query, key, value = self._split(states)
        mixed: Tensor = self.out(merge_heads(F.scaled_dot_product_attention(query, key, value, is_causal=True)))
        return mixed

    def step(self, states: Tensor, written: Written | None) -> tuple[Tensor, Written]:
        """Mix the newest token (rows, 1, dim) with what was written."""
        query, key, value = self._split(states)
        written = written.append(key, value) if written else Written(key, value)
        mixed: Tensor = self.out(merge_heads(F.scaled_dot_product_attention(query, written.key, written.value)))
        return mixed, written

    def _split(self, states: Tensor) -> tuple[Tensor, ...]:
        return tuple(split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))


@final
class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention and feed-forward, each in a residual sum."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = CausalAttention(config.dim, config.heads)
        self.cross_attention = config.decoder.cross_attention.build(config.dim, config.heads)
        self.feed_forward = FeedForward(config.dim, config.feed_forward, config.activation)
        self.around_attention = Residual(config.dim, config.norm, config.dropout)
        self.around_cross_attention = Residual(config.dim, config.norm, config.dropout)
        self.around_feed_forward = Residual(config.dim, config.norm, config.dropout)

    def forward(self, states: Tensor, remembered: dict[str, Tensor]) -> Tensor:
        """Read a whole summary (batch, target, dim)."""
        states = self.around_attention(states, self.attention)
        states = self.around_cross_attention(states, lambda queries: self.cross_attention(queries, remembered))
        return self._feed(states)

    def step(
        self, states: Tensor, written: Written | None, remembered: dict[str, Tensor], batch: int
    ) -> tuple[Tensor, Written]:
        """Read the newest token (batch * beams, 1, dim); the beams of a document share what is remembered of it."""
        mixed, written = self.attention.step(self.around_attention.prepare(states), written)
        states = self.around_attention.add(states, mixed)
        queries = self.around_cross_attention.prepare(states)
        folded = queries.view(batch, -1, queries.size(-1))  # (batch, beams, dim)
        states = self.around_cross_attention.add(states, self.cross_attention(folded, remembered).view(queries.shape))
        return self._feed(states), written

    def _feed(self, states: Tensor) -> Tensor:
        fed: Tensor = self.around_feed_forward(states, self.feed_forward)
        return fed


@final
class Decoder(nn.Module):
    """Turns summary tokens into states that the output head reads."""

    def __init__(self, config: ModelConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder.layers))
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.positions = config.decoder.positions

    def remember(self, memory: Tokens) -> list[dict[str, Tensor]]:
        """Let every layer project the memory once."""
        return [layer.cross_attention.remember(memory) for layer in self._layers()]

    def forward(self, tokens: Tensor, remembered: list[dict[str, Tensor]]) -> Tensor:
        """Read summaries (batch, target): states (batch, target, dim)."""
        states = self._embed(tokens, first=0)
        for layer, seen in zip(self._layers(), remembered, strict=True):
            states = layer(states, seen)
        normed: Tensor = self.norm(states)
        return normed

    def step(
        self, tokens: Tensor, written: list[Written], remembered: list[dict[str, Tensor]], batch: int
    ) -> tuple[Tensor, list[Written]]:
        """Read the newest token of every hypothesis (batch * beams, 1): states (batch * beams, 1, dim)."""
        states = self._embed(tokens, first=written[0].key.size(2) if written else 0)
        grown: list[Written] = []
        for number, (layer, seen) in enumerate(zip(self._layers(), remembered, strict=True)):
            states, longer = layer.step(states, written[number] if written else None, seen, batch)
            grown.append(longer)
        return self.norm(states), grown

    def _layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    def _embed(self, tokens: Tensor, first: int) -> Tensor:
        states = hide(self.embedding(tokens), tokens != PAD) * self.embedding.embedding_dim**0.5
        if self.positions == "sinusoidal":
            places = torch.arange(first, first + tokens.size(1), device=tokens.device)
            states = states + sinusoid(places, states.size(-1)).to(states.dtype)
        dropped: Tensor = self.dropout(states)
        return dropped
