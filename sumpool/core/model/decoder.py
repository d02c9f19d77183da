"""The decoder: summary tokens and memory -> states of the next tokens."""

from dataclasses import replace
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.cross_attention import CrossAttentionOutput
from sumpool.core.model.compiled_layers import CompiledLayers
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.kv_cache import BeamCache
from sumpool.core.nn.layers import FeedForward, Residual, merge_heads, run_layer, split_heads
from sumpool.core.nn.masking import dot_product_attention, pad_id, zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import sinusoid
from sumpool.core.tokens import Tokens

_INITIAL_LOG_LENGTH = 4.0
"""Logarithm of the length that an untrained model predicts: 55 tokens."""
_MAX_LOG_LENGTH = 20.0
_NOISE_STD = 0.1
"""Standard deviation of the logarithm of the factor on a reference length during training."""


@final
class CausalAttention(nn.Module):
    """Causal self-attention of the summary."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, states: Tensor) -> Tensor:
        """Attend within whole summaries (batch, target, dim), as in training."""
        query, key, value = (split_heads(part, self.heads) for part in self.project(states).chunk(3, dim=-1))
        output: Tensor = self.out(merge_heads(dot_product_attention(query, key, value, is_causal=True)))
        return output

    def step(self, states: Tensor, cache: BeamCache, layer: int) -> Tensor:
        """Attend from the newest token of every beam (batch, beams, dim) to its ancestors and itself."""
        rows = cache.ancestry_bias.shape[:2]  # samples are documents of their cache
        projected = self.project(states).view(*rows, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        key, value, bias = cache.update(layer, projected[1:])
        attended = dot_product_attention(projected[0], key, value, bias[:, None])
        output: Tensor = self.out(merge_heads(attended).view(*states.shape[:2], -1))
        return output


@final
class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention and feed-forward, each with a residual connection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = CausalAttention(config.dim, config.heads)
        self.cross_attention = config.decoder.cross_attention.build(config.dim, config.heads)
        self.feed_forward = FeedForward(config.dim, config.feed_forward, config.activation)
        self.attention_residual = Residual(config.dim, config.norm, config.dropout)
        self.cross_attention_residual = Residual(config.dim, config.norm, config.dropout)
        self.feed_forward_residual = Residual(config.dim, config.norm, config.dropout)

    def forward(self, states: Tensor, cross_cache: dict[str, Tensor], mask: Tensor | None) -> CrossAttentionOutput:
        """Apply the layer to whole summaries (batch, target, dim), True in mask (batch, target) at real tokens."""
        states = self.attention_residual(states, self.attention)
        output: CrossAttentionOutput = self.cross_attention(
            self.cross_attention_residual.prepare(states), cross_cache, mask
        )
        states = self.cross_attention_residual.add(states, output.states)
        return replace(output, states=self.feed_forward_residual(states, self.feed_forward))

    def step(self, states: Tensor, self_cache: BeamCache, layer: int, cross_cache: dict[str, Tensor]) -> Tensor:
        """Apply the layer, whose index is `layer`, to the newest token of every beam (batch, beams, dim)."""
        attended = self.attention.step(self.attention_residual.prepare(states), self_cache, layer)
        states = self.attention_residual.add(states, attended)
        queries = self.cross_attention_residual.prepare(states)
        states = self.cross_attention_residual.add(states, self.cross_attention.step(queries, cross_cache))
        output: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return output


@final
class LengthPredictor(nn.Module):
    """Predicts summary lengths in tokens, EOS included, and embeds the number of remaining tokens.

    Beam search prefers summaries that are too short, and a search that must not stop continues after the content ends.
    The decoder is therefore conditioned on the number of remaining tokens and ends in time (after the length-difference
    encoding of Takase and Okazaki, 2019, arXiv:1904.07418, where lengths are given, not predicted).

    During training the decoder is conditioned on the reference length times log-normal noise: with exact lengths it
    would count tokens instead of ending at a sentence boundary. Everywhere else, validation included, the predicted
    length is used.
    """

    def __init__(self, dim: int, pad: int) -> None:
        super().__init__()
        self.pad = pad
        self.hidden = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 1)
        self.remaining = nn.Linear(dim, dim)
        nn.init.constant_(self.out.bias, _INITIAL_LOG_LENGTH)

    def forward(self, memory: Tokens) -> Tensor:
        """Predict the logarithm of each summary's length (batch,) from the mean memory vector."""
        real = memory.mask.sum(1, keepdim=True).clamp_min(1)
        mean = zero_padding(at_least_float32(memory.states), memory.mask).sum(1) / real  # (batch, dim)
        log_lengths: Tensor = self.out(self.hidden(mean.to(memory.states.dtype)).relu())
        return at_least_float32(log_lengths.squeeze(1)).clamp(0.0, _MAX_LOG_LENGTH)

    def loss(self, log_lengths: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error of predicted log-lengths (batch,) against references (batch, target).

        The minimum is the median length of summaries of such documents.
        """
        return (log_lengths - self._lengths(target).log()).abs().mean()

    def jitter(self, target: Tensor) -> Tensor:
        """Return reference lengths (batch,) of target (batch, target) times log-normal noise, for training."""
        lengths = self._lengths(target)
        return lengths * (_NOISE_STD * torch.randn_like(lengths)).exp()

    def embed_remaining(self, lengths: Tensor, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Embed the tokens that remain of lengths (batch,) at positions (batch, target): (batch, target, dim)."""
        remaining = (lengths[:, None] - positions).round().clamp_min(0)
        embedded: Tensor = self.remaining(sinusoid(remaining, self.remaining.in_features).to(dtype))
        return embedded

    def _lengths(self, target: Tensor) -> Tensor:
        """Tokens of references (batch, target), at least 1 each: (batch,)."""
        return (target != self.pad).sum(1).clamp_min(1).float()


@final
class Decoder(nn.Module):
    """Transformer decoder with a choice of cross-attention."""

    def __init__(self, config: ModelConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.config = config
        self.embed = config.build_embed(embedding, config.decoder.positions, config.target_length)
        self.pad = pad_id(embedding)
        self.length_predictor = LengthPredictor(config.dim, self.pad) if config.decoder.predict_length else None
        self.memory_encoder = config.decoder.cross_attention.build_memory_encoder(config.dim)
        self.checkpoint_activations = False
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder.layers))
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()

    def precompute(self, memory: Tokens) -> list[dict[str, Tensor]]:
        """Project the memory once for each layer; see `CrossAttention.precompute`."""
        shared = self.memory_encoder(memory)
        return [layer.cross_attention.precompute(memory, shared) for layer in self._layers()]

    def forward(
        self,
        tokens: Tensor,
        cross_cache: list[dict[str, Tensor]],
        mask: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> CrossAttentionOutput:
        """Decode whole summaries, each token given those before it.

        Args:
            tokens: (batch, target).
            cross_cache: Result of `precompute` for the documents.
            mask: (batch, target), True at the tokens that count in losses and metrics; None where all do.
            lengths: (batch,), length of each summary that the decoder is conditioned on; None without a length
                predictor.

        Returns:
            States (batch, target, dim), losses as means over the layers, and metrics named after the layers.
        """
        positions = torch.arange(tokens.size(1), device=tokens.device).expand(tokens.shape)
        states = self._embed(tokens, positions, lengths)
        outputs: list[CrossAttentionOutput] = []
        for layer, layer_cache in zip(self._layers(), cross_cache, strict=True):
            outputs.append(run_layer(layer, states, layer_cache, mask, checkpointed=self.checkpoint_activations))
            states = outputs[-1].states
        metrics = {
            f"decoder_{number}.{name}": metric
            for number, output in enumerate(outputs, 1)
            for name, metric in output.metrics.items()
        }
        losses = {  # all layers have the same
            name: torch.stack([output.losses[name] for output in outputs]).mean() for name in outputs[0].losses
        }
        return CrossAttentionOutput(self.norm(states), losses, metrics)

    def step(
        self,
        tokens: Tensor,
        self_cache: BeamCache,
        cross_cache: list[dict[str, Tensor]],
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, BeamCache]:
        """Decode the newest token of every beam (batch, beams); return states (batch, beams, dim) and the cache."""
        self_cache = self_cache.advance()
        states = self._embed(tokens, self_cache.position.expand(tokens.shape), lengths)
        compiled = CompiledLayers.find(self.config, self._layers())
        decoded = None if compiled is None else compiled.step(states, self_cache, cross_cache)
        if decoded is None:
            decoded = states
            for index, (layer, layer_cache) in enumerate(zip(self._layers(), cross_cache, strict=True)):
                decoded = layer.step(decoded, self_cache, index, layer_cache)
        return self.norm(decoded), self_cache

    def _layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    def _embed(self, tokens: Tensor, positions: Tensor, lengths: Tensor | None) -> Tensor:
        # The first input counts even where it is the padding token, as in PEGASUS and Marian.
        embedded: Tensor = self.embed(tokens, (tokens != self.pad) | (positions == 0), positions)
        if self.length_predictor is None or lengths is None:
            return embedded
        return embedded + self.length_predictor.embed_remaining(lengths, positions, embedded.dtype)
