"""Hourglass: layers over tokens around layers over segments of tokens (Nawrot et al., 2022 and 2023).

A segment is complete with the token that ends it. Its mean is a state of the inner layers, which begin with a learned
null state; and every token receives the output of the last complete segment, the null state's if there is none, in
addition to its own state. No token therefore depends on its unfinished segment, and decisions about ends depend on the
state of the token, so that nothing depends on later tokens. Segments may be shortened again.

Departures from the released code: tokens after a row's last end are in no segment, rather than in one that is
never read; the up-sampling has no gradient for the ends, where the released one is 1e-9.
"""

from dataclasses import dataclass, field, replace
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.boundaries._base import Segmentation
from sumpool.core.model.language_model_config import LanguageModelConfig
from sumpool.core.model.text_layers import Biases, TextCache, TextStack
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.segments import Segments, memberships
from sumpool.core.tokens import Tokens


@dataclass(frozen=True)
class HourglassOutput:
    """Output of an hourglass.

    Attributes:
        states: (batch, length, dim).
        segmentations: Decisions of each shortening, outermost first.
        metrics: Detached scalars by name.
    """

    states: Tensor
    segmentations: tuple[Segmentation, ...] = ()
    metrics: dict[str, Tensor] = field(default_factory=dict)


class HourglassCache:
    """State of an hourglass between steps of a generation.

    Attributes:
        before: Caches of the layers before the shortening.
        after: Caches of the layers after it.
        total: (batch, dim), sum of the states of each unfinished segment.
        count: Number of states of each unfinished segment.
        received: (batch, dim), output of the last complete segment of each row.
        inner: Cache of the hourglass between.
    """

    def __init__(self, before: list[TextCache], after: list[TextCache], index: list[int]) -> None:
        self.before, self.after, self.index = before, after, index
        self.count = [0] * len(index)
        self.total = self.received = torch.empty(0)
        self.inner: HourglassCache | None = None


@final
class Hourglass(nn.Module):
    """Layers, a shortening with the hourglass inside, and further layers; the innermost has layers only."""

    def __init__(
        self, config: LanguageModelConfig, embedding: nn.Embedding, separators: Tensor, level: int = 0, pad: int = 0
    ) -> None:
        """Build one level and those inside.

        Args:
            config: Settings of the model.
            embedding: Token embedding.
            separators: (vocab,), True at tokens that end a word.
            level: Shortenings around this level.
            pad: Id of padding, which stands for the null state.
        """
        super().__init__()
        self.pad = pad
        self.before = TextStack(config, config.layers[level])
        self.inner: Hourglass | None = None
        if level < len(config.boundaries):
            self.boundaries = config.boundaries[level].build_causal(embedding, separators, config.seed)
            self.null = nn.Parameter(torch.randn(config.dim))
            self.norm = nn.LayerNorm(config.dim)
            self.inner = Hourglass(config, embedding, separators, level + 1, pad)
            self.after = TextStack(config, config.layers[-1 - level])

    def segment(self, tokens: Tokens, biases: Biases, checkpointed: bool = False) -> tuple[Tokens, Segmentation]:
        """Apply the layers before the shortening, and decide where segments end."""
        tokens = tokens.with_states(self.before(tokens.states, biases, checkpointed))
        return tokens, self.boundaries(tokens)

    def forward(self, tokens: Tokens, biases: Biases, checkpointed: bool) -> HourglassOutput:
        """Apply all layers.

        Args:
            tokens: States, mask, ids and phrases are used.
            biases: See `Biases`.
            checkpointed: Whether layers store their inputs only.
        """
        if self.inner is None:
            return HourglassOutput(self.before(tokens.states, biases, checkpointed))
        tokens, segmentation = self.segment(tokens, biases, checkpointed)
        segments = Segments.from_ends(segmentation.ends, tokens.mask, open_end=True)
        output = self.inner(self._shorten(tokens, segmentation, segments), biases, checkpointed)
        index = (
            segments.ended + output.states.size(1) * torch.arange(len(tokens.mask), device=tokens.mask.device)[:, None]
        )
        received = output.states.flatten(0, 1).index_select(0, index.flatten()).view(tokens.states.shape)
        states = self.after(tokens.states + received, biases, checkpointed)
        metrics = {"shortening": tokens.mask.sum() / segments.mask.sum().clamp(min=1)}
        inside = {f"{name}_inside": value for name, value in output.metrics.items()}
        return HourglassOutput(states, (segmentation, *output.segmentations), {**metrics, **inside})

    def _shorten(self, tokens: Tokens, segmentation: Segmentation, segments: Segments) -> Tokens:
        """Return the null state and the mean of each segment, (batch, 1 + segments, dim)."""
        states = tokens.states
        weights = memberships(segmentation.ends, tokens.mask).masked_fill(~segments.inside, 0.0)
        means = segments.mean(at_least_float32(states), weights).to(states.dtype)
        shortened = self.norm(torch.cat([self.null.to(states.dtype).expand(len(means), 1, -1), means], 1))
        ids = tokens.ids.gather(1, segments.last)
        return as_tokens(
            shortened,
            torch.cat([ids.new_full((len(ids), 1), self.pad), ids], 1),
            torch.cat([segments.mask.new_ones(len(ids), 1), segments.mask], 1),
        )

    def start(self, batch: int, biases: Biases) -> HourglassCache:
        """Return the cache before the first token."""
        index = [0] * batch
        if self.inner is None:
            return HourglassCache(self.before.start(batch), [], index)
        cache = HourglassCache(self.before.start(batch), self.after.start(batch), index)
        cache.total = self.null.new_zeros(batch, len(self.null))
        cache.inner = self.inner.start(batch, biases)
        null = self.norm(self.null.expand(batch, -1))
        ids = torch.full((batch,), self.pad, device=null.device)
        cache.received = self.inner.step(null, ids, list(range(batch)), cache.inner, biases)
        return cache

    def step(self, states: Tensor, ids: Tensor, rows: list[int], cache: HourglassCache, biases: Biases) -> Tensor:
        """Apply all layers to the next state (rows, dim) of some rows, whose token is `ids` (rows,)."""
        states = self.before.step(states, rows, cache.before, biases)
        first = torch.tensor([cache.index[row] for row in rows], device=ids.device)
        for row in rows:
            cache.index[row] += 1
        if self.inner is None:
            return states
        assert cache.inner is not None
        tokens = replace(
            as_tokens(states[:, None], ids[:, None], torch.ones_like(ids[:, None], dtype=torch.bool)), first=first
        )
        ends = self.boundaries(tokens).ends.squeeze(1) > 0.5  # (rows,)
        cache.total[rows] += states
        for row in rows:
            cache.count[row] += 1
        closed = [row for row, end in zip(rows, ends.tolist(), strict=True) if end]
        if closed:
            counts = torch.tensor([cache.count[row] for row in closed], device=ids.device)
            means = self.norm(cache.total[closed] / counts[:, None])
            cache.received[closed] = self.inner.step(means, ids[ends], closed, cache.inner, biases)
            cache.total[closed] = 0.0
            for row in closed:
                cache.count[row] = 0
        return self.after.step(states + cache.received[rows], rows, cache.after, biases)


def as_tokens(states: Tensor, ids: Tensor, mask: Tensor, phrases: Tensor | None = None) -> Tokens:
    """Tokens of a text, which has no sentences and words.

    Args:
        states: (batch, length, dim).
        ids: (batch, length).
        mask: (batch, length), True at real tokens.
        phrases: (batch, length), segment numbers of a teacher.
    """
    return Tokens.from_source(states, mask, ids, ids, ids, phrases)
