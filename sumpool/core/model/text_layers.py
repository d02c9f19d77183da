"""Causal Transformer layers of the language model, over whole texts and token by token.

Departures from the released code: all projections have a bias except those of the attention, and the feed-forward layer
has no dropout inside. A stack of layers computes the sinusoids of all distances once.
"""

from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.model.language_model_config import LanguageModelConfig
from sumpool.core.nn.causal_attention import causal_attention
from sumpool.core.nn.execution import run_layer
from sumpool.core.nn.layers import Dropout, FeedForward, Residual
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import sinusoid

Biases = tuple[Tensor, Tensor] | None
"""Biases of contents and of positions, (heads, head_dim), shared by all layers; None without relative positions."""


@final
class TextCache:
    """Keys, values and projected distances of one attention, for rows that may have different lengths.

    Attributes:
        lengths: Number of states of each row.
    """

    def __init__(self, batch: int) -> None:
        self.lengths = [0] * batch
        self.capacity = 0
        self.keys = self.values = self.distances = torch.empty(0)

    def append(self, rows: list[int], key: Tensor, value: Tensor, attention: "TextAttention") -> None:
        """Append a state to some rows: key and value (heads, rows, head_dim)."""
        if max(self.lengths[row] for row in rows) == self.capacity:
            self._grow(key, attention)
        places = [self.lengths[row] for row in rows]
        self.keys[:, rows, places] = key
        self.values[:, rows, places] = value
        for row in rows:
            self.lengths[row] += 1

    def _grow(self, like: Tensor, attention: "TextAttention") -> None:
        """Double the capacity."""
        shape = (len(like), len(self.lengths), max(64, 2 * self.capacity), like.size(2))
        old = (self.keys, self.values)
        self.keys, self.values = like.new_zeros(shape), like.new_zeros(shape)
        if self.capacity:
            self.keys[:, :, : self.capacity], self.values[:, :, : self.capacity] = old
        self.capacity = shape[2]
        if attention.distance is not None:
            indices = torch.arange(self.capacity, device=like.device)
            sinusoids = sinusoid(indices, attention.distance.in_features, inclusive=False).to(like.dtype)
            self.distances = attention.split(attention.distance(sinusoids)[None])[:, 0].flip(1).contiguous()


@final
class TextAttention(nn.Module):
    """Causal attention, with relative positions if the model has them."""

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout, self.stored = config.heads, config.attention_dropout, config.store_attention
        self.query_key_value = nn.Linear(config.dim, 3 * config.dim, bias=False)
        relative = config.positions == "relative"
        self.distance = nn.Linear(config.dim, config.dim, bias=False) if relative else None
        self.merge = nn.Linear(config.dim, config.dim, bias=False)

    def split(self, states: Tensor) -> Tensor:
        """Split features into heads: (batch, length, dim) -> (heads, batch, length, head_dim)."""
        batch, length, dim = states.shape
        return states.view(batch, length, self.heads, dim // self.heads).permute(2, 0, 1, 3).contiguous()

    def forward(self, states: Tensor, distances: Tensor | None, biases: Biases) -> Tensor:
        """Attend from each state (batch, length, dim) to itself and those before it.

        Args:
            states: (batch, length, dim).
            distances: Sinusoids of the distances 0, 1, ..., (length, dim); None without relative positions.
            biases: See `Biases`.
        """
        query, key, value = (self.split(part) for part in self.query_key_value(states).chunk(3, 2))
        relative = None
        if self.distance is not None:
            assert distances is not None
            assert biases is not None
            relative = (*biases, self.split(self.distance(distances)[None])[:, 0])
        dropout = self.dropout if self.training else 0.0
        mixed = causal_attention(query, key, value, relative, dropout, self.stored and torch.is_grad_enabled())
        merged: Tensor = self.merge(mixed.permute(1, 2, 0, 3).flatten(2))
        return merged

    def step(self, states: Tensor, rows: list[int], cache: TextCache, biases: Biases) -> Tensor:
        """Append states (rows, dim) of some rows of the batch, and attend from each to its row."""
        query, key, value = (
            part.unflatten(1, (self.heads, -1)).transpose(0, 1) for part in self.query_key_value(states).chunk(3, 1)
        )  # (heads, rows, head_dim)
        cache.append(rows, key, value, self)
        lengths = [cache.lengths[row] for row in rows]
        longest = max(lengths)
        part = slice(None) if len(rows) == len(cache.lengths) else rows
        keys, values = cache.keys[:, part, :longest], cache.values[:, part, :longest]
        query = query * query.size(2) ** -0.5
        scale = query.size(2) ** -0.5
        content, position = (0.0, 0.0) if biases is None else (bias[:, None] * scale for bias in biases)
        scores = torch.einsum("hrd,hrld->hrl", query + content, keys)
        place = torch.arange(longest, device=states.device)
        last = torch.tensor(lengths, device=states.device)[:, None] - 1
        if self.distance is not None:
            index = (cache.capacity - 1 - last + place).clamp(max=cache.capacity - 1)  # (rows, longest)
            every = torch.einsum("hrd,hcd->hrc", query + position, cache.distances)
            scores = scores + every.gather(2, index.expand(len(every), -1, -1))
        scores = at_least_float32(scores).masked_fill(place > last, -torch.inf)
        mixed = torch.einsum("hrl,hrld->rhd", scores.softmax(2).to(values.dtype), values)
        merged: Tensor = self.merge(mixed.flatten(1))
        return merged


@final
class TextLayer(nn.Module):
    """Attention and feed-forward layer, each with a residual connection."""

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.attention = TextAttention(config)
        self.attention_residual = Residual(config.dim, config.norm, config.dropout)
        self.feed_forward = FeedForward(config.dim, config.feed_forward, config.activation)
        self.feed_forward_residual = Residual(config.dim, config.norm, config.dropout)

    def forward(self, states: Tensor, distances: Tensor | None, biases: Biases) -> Tensor:
        """Apply the layer to (batch, length, dim); see `TextAttention.forward`."""
        residual = self.attention_residual
        states = residual.add(states, self.attention(residual.prepare(states), distances, biases))
        return self.feed_forward_residual(states, self.feed_forward)  # type: ignore[no-any-return]

    def step(self, states: Tensor, rows: list[int], cache: TextCache, biases: Biases) -> Tensor:
        """Apply the layer to the next state (rows, dim) of some rows."""
        residual = self.attention_residual
        states = residual.add(states, self.attention.step(residual.prepare(states), rows, cache, biases))
        return self.feed_forward_residual(states, self.feed_forward)  # type: ignore[no-any-return]


@final
class TextStack(nn.Module):
    """Layers one after the other."""

    def __init__(self, config: LanguageModelConfig, layers: int) -> None:
        super().__init__()
        self.dim = config.dim if config.positions == "relative" else 0
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(TextLayer(config) for _ in range(layers))

    def forward(self, states: Tensor, biases: Biases, checkpointed: bool) -> Tensor:
        """Apply the layers to (batch, length, dim)."""
        distances = None
        if self.dim and len(self.layers):
            indices = torch.arange(states.size(1), device=states.device)
            distances = self.dropout(sinusoid(indices, self.dim, inclusive=False).to(states.dtype))
        for layer in self.layers:
            states = run_layer(layer, states, distances, biases, checkpointed=checkpointed)
        return states

    def start(self, batch: int) -> list[TextCache]:
        """Return the caches of the layers."""
        return [TextCache(batch) for _ in self.layers]

    def step(self, states: Tensor, rows: list[int], caches: list[TextCache], biases: Biases) -> Tensor:
        """Apply the layers to the next state (rows, dim) of some rows."""
        for layer, cache in zip(self.layers, caches, strict=True):
            assert isinstance(layer, TextLayer)
            states = layer.step(states, rows, cache, biases)
        return states
