"""The decoder: writes a summary token by token from what the encoder left."""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.cross_attention._base import CrossAttentionOutput, StepState
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.embed import Embed
from sumpool.core.model.kv_cache import BeamCache, BeamCacheT
from sumpool.core.model.length_predictor import LengthPredictor
from sumpool.core.nn.execution import run_layer
from sumpool.core.nn.layers import FeedForward, Residual, merge_heads, split_heads
from sumpool.core.nn.masking import pad_id
from sumpool.core.tokens import Tokens


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

    def step(self, states: Tensor, written: BeamCache, layer: int) -> Tensor:
        """Mix the newest token of every hypothesis (batch, beams, dim) with what it wrote before."""
        projected = self.project(states).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        key, value, past = written.add(layer, projected[1:])
        mixed = F.scaled_dot_product_attention(projected[0], key, value, attn_mask=past[:, None])
        added: Tensor = self.out(merge_heads(mixed))
        return added

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
        self.attention_residual = Residual(config.dim, config.norm, config.dropout)
        self.cross_attention_residual = Residual(config.dim, config.norm, config.dropout)
        self.feed_forward_residual = Residual(config.dim, config.norm, config.dropout)

    def forward(self, states: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None) -> CrossAttentionOutput:
        """Read whole summaries (batch, target, dim), True in mask (batch, target) at real tokens."""
        states = self.attention_residual(states, self.attention)
        seen: CrossAttentionOutput = self.cross_attention(
            self.cross_attention_residual.prepare(states), precomputed, mask
        )
        states = self.cross_attention_residual.add(states, seen.states)
        return replace(seen, states=self._feed(states))

    def step(
        self, states: Tensor, written: BeamCache, layer: int, precomputed: dict[str, Tensor]
    ) -> tuple[Tensor, StepState]:
        """Read the newest token of every hypothesis (batch, beams, dim), as the layer of this number.

        Returns:
            (batch, beams, dim), and what the cross-attention keeps.
        """
        states = self.attention_residual.add(
            states, self.attention.step(self.attention_residual.prepare(states), written, layer)
        )
        queries = self.cross_attention_residual.prepare(states)
        seen, held = self.cross_attention.step(queries, precomputed, written.held[layer] if written.held else {})
        return self._feed(self.cross_attention_residual.add(states, seen)), held

    def _feed(self, states: Tensor) -> Tensor:
        fed: Tensor = self.feed_forward_residual(states, self.feed_forward)
        return fed


@final
class Decoder(nn.Module):
    """Turns summary tokens into states that the output head reads."""

    def __init__(self, config: ModelConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embed = Embed(embedding, config, config.decoder.positions, config.target_length)
        self.pad = pad_id(embedding)
        self.length_predictor = LengthPredictor(config.dim, self.pad) if config.decoder.predict_length else None
        self.memory_encoder = config.decoder.cross_attention.build_memory_encoder(config.dim)
        self.checkpoint_activations = False
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder.layers))
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()

    @property
    def has_fixed_shapes(self) -> bool:
        """Whether a step works in shapes that follow from those of what it is given."""
        return all(layer.cross_attention.has_fixed_shapes for layer in self._layers())

    def precompute(self, memory: Tokens) -> list[dict[str, Tensor]]:
        """Let every layer project the memory once."""
        shared = self.memory_encoder(memory)
        return [layer.cross_attention.precompute(memory, shared) for layer in self._layers()]

    def forward(
        self,
        tokens: Tensor,
        precomputed: list[dict[str, Tensor]],
        mask: Tensor | None = None,
        planned: Tensor | None = None,
    ) -> CrossAttentionOutput:
        """Read summaries.

        Args:
            tokens: (batch, target).
            precomputed: What `precompute` returned for their documents.
            mask: (batch, target), True at the tokens that count in losses and figures; None where all do.
            planned: (batch,), how many tokens the summaries are to have; None where lengths have no plan.

        Returns:
            States (batch, target, dim), losses as means over the layers, and figures named after them.
        """
        states = self._embed(tokens, torch.arange(tokens.size(1), device=tokens.device).expand(tokens.shape), planned)
        found: list[CrossAttentionOutput] = []
        for layer, kept in zip(self._layers(), precomputed, strict=True):
            found.append(run_layer(layer, states, kept, mask, checkpointed=self.checkpoint_activations))
            states = found[-1].states
        metrics = {
            f"decoder_{number}.{name}": figure
            for number, seen in enumerate(found, 1)
            for name, figure in seen.metrics.items()
        }
        return CrossAttentionOutput(self.norm(states), _means([seen.losses for seen in found]), metrics)

    def step(
        self, tokens: Tensor, written: BeamCacheT, precomputed: list[dict[str, Tensor]], planned: Tensor | None = None
    ) -> tuple[Tensor, BeamCacheT]:
        """Read the newest token of every hypothesis (batch, beams): states (batch, beams, dim)."""
        written = written.advance()
        states = self._embed(tokens, written.place.expand(tokens.shape), planned)
        held: list[StepState] = []
        for number, (layer, seen) in enumerate(zip(self._layers(), precomputed, strict=True)):
            states, kept = layer.step(states, written, number, seen)
            held.append(kept)
        return self.norm(states), replace(written, held=held)

    def _layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    def _embed(self, tokens: Tensor, places: Tensor, planned: Tensor | None) -> Tensor:
        embedded: Tensor = self.embed(tokens, tokens != self.pad, places)
        return (
            embedded
            if self.length_predictor is None or planned is None
            else embedded + self.length_predictor.embed_remaining(planned, places, embedded.dtype)
        )


def _means(losses: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Take the mean of each loss over the layers, which all have the same."""
    return {name: torch.stack([layer[name] for layer in losses]).mean() for name in losses[0]}
