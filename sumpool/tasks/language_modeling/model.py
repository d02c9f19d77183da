"""Language model with dynamic token pooling (Nawrot et al., 2023, arXiv:2211.09761), and its baselines.

Without boundaries it is a Transformer, with the attention of Transformer-XL or with absolute positions; with boundaries
it is an hourglass (Nawrot et al., 2022): layers over tokens around layers over segments of tokens. Logits of a token
depend on it and on those before it, for every kind of boundary, and neither padding nor batch mates change them.

A segment is complete with the token that ends it. Its mean, or its last state, is a state of the inner layers, which
begin with a learned null state; and every token receives the output of the last complete segment, the null state's if
there is none, in addition to its own state. No token therefore depends on its unfinished segment, and decisions about
ends depend on the state of the token, so that nothing depends on later tokens. Segments may be shortened again.

Departures from the released code: the output projection has no bias, and all others have one except those of the
attention; the feed-forward layer has no dropout inside; sampled boundaries are the same for the same text in
evaluation; tokens after a row's last end are
in no segment, rather than in one that is never read; the up-sampling has no gradient for the ends, where the released
one is 1e-9. A stack of layers computes the sinusoids of all distances once.
"""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.boundaries import Segmentation
from sumpool.core.nn.causal_attention import causal_attention
from sumpool.core.nn.cross_entropy import MAX_LOGITS, cross_entropy
from sumpool.core.nn.layers import Dropout, FeedForward, Residual, run_layer
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import Embed, sinusoid
from sumpool.core.nn.states import Segments, memberships
from sumpool.core.output import Scores
from sumpool.core.tokens import Tokens
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.tasks.language_modeling.config import LanguageModelConfig

Biases = tuple[Tensor, Tensor] | None
"""Biases of contents and of positions, (heads, head_dim), shared by all layers; None without relative positions."""

INIT_STD = 0.02


@final
class TextAttention(nn.Module):
    """Causal attention, with relative positions if the model has them."""

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.attention_dropout
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
        mixed = causal_attention(query, key, value, relative, dropout)
        merged: Tensor = self.merge(mixed.permute(1, 2, 0, 3).flatten(2))
        return merged


@final
class TextLayer(nn.Module):
    """Attention and feed-forward layer, each with a residual connection."""

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.attention = TextAttention(config)
        self.attention_residual = Residual(config.dim, "post", config.dropout)
        self.feed_forward = FeedForward(config.dim, config.feed_forward, config.activation)
        self.feed_forward_residual = Residual(config.dim, "post", config.dropout)

    def forward(self, states: Tensor, distances: Tensor | None, biases: Biases) -> Tensor:
        """Apply the layer to (batch, length, dim); see `TextAttention.forward`."""
        states = self.attention_residual.add(states, self.attention(states, distances, biases))
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
        self.combine = config.combine
        self.before = TextStack(config, config.layers[level])
        self.inner: Hourglass | None = None
        if level < len(config.boundaries):
            self.boundaries = config.boundaries[level].build(embedding, separators, config.seed)
            self.null = nn.Parameter(torch.randn(config.dim))
            self.norm = nn.LayerNorm(config.dim)
            self.inner = Hourglass(config, embedding, separators, level + 1, pad)
            self.after = TextStack(config, config.layers[-1 - level])

    def segment(self, tokens: Tokens, biases: Biases, checkpointed: bool = False) -> tuple[Tokens, Segmentation]:
        """Apply the layers before the shortening, and decide where segments end."""
        tokens = tokens.with_states(self.before(tokens.states, biases, checkpointed))
        return tokens, self.boundaries(tokens)

    def forward(
        self, tokens: Tokens, biases: Biases, checkpointed: bool
    ) -> tuple[Tensor, tuple[Segmentation, ...], dict[str, Tensor]]:
        """Apply all layers.

        Args:
            tokens: States, mask, ids and phrases are used.
            biases: See `Biases`.
            checkpointed: Whether layers store their inputs only.

        Returns:
            States (batch, length, dim), the decisions of each shortening, outermost first, and detached metrics.
        """
        if self.inner is None:
            return self.before(tokens.states, biases, checkpointed), (), {}
        tokens, segmentation = self.segment(tokens, biases, checkpointed)
        segments = Segments.from_ends(segmentation.ends, tokens.mask, open_end=True)
        inner, segmentations, measured = self.inner(self._shorten(tokens, segmentation, segments), biases, checkpointed)
        rows = torch.arange(len(tokens.mask), device=tokens.mask.device)[:, None]
        index = segments.ended + inner.size(1) * rows
        received = inner.flatten(0, 1).index_select(0, index.flatten()).view(tokens.states.shape)
        states = self.after(tokens.states + received, biases, checkpointed)
        metrics = {"shortening": tokens.mask.sum() / segments.mask.sum().clamp(min=1)}
        inside = {f"{name}_inside": value for name, value in measured.items()}
        return states, (segmentation, *segmentations), {**metrics, **inside}

    def _shorten(self, tokens: Tokens, segmentation: Segmentation, segments: Segments) -> Tokens:
        """Return the null state and the state of each segment, (batch, 1 + segments, dim)."""
        states = tokens.states
        if self.combine == "last":
            pooled = states.gather(1, segments.last[..., None].expand(-1, -1, states.size(2)))
        else:
            weights = memberships(segmentation.ends, tokens.mask).masked_fill(~segments.inside, 0.0)
            pooled = segments.mean(at_least_float32(states), weights).to(states.dtype)
        shortened = self.norm(torch.cat([self.null.to(states.dtype).expand(len(pooled), 1, -1), pooled], 1))
        ids = tokens.ids.gather(1, segments.last)
        return as_tokens(
            shortened,
            torch.cat([ids.new_full((len(ids), 1), self.pad), ids], 1),
            torch.cat([segments.mask.new_ones(len(ids), 1), segments.mask], 1),
        )


def as_tokens(states: Tensor, ids: Tensor, mask: Tensor, phrases: Tensor | None = None) -> Tokens:
    """Tokens of a text, which has no sentences and words.

    Args:
        states: (batch, length, dim).
        ids: (batch, length).
        mask: (batch, length), True at real tokens.
        phrases: (batch, length), segment numbers of a teacher.
    """
    return Tokens.from_source(states, mask, ids, ids, ids, phrases)


@final
class LanguageModel(nn.Module):
    """Causal language model over characters."""

    def __init__(
        self,
        config: LanguageModelConfig,
        vocabulary: int,
        separators: Tensor | None = None,
        special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
    ) -> None:
        """Build with random weights.

        Args:
            config: The model's settings.
            vocabulary: Number of tokens, special tokens included.
            separators: (vocab,), True at tokens that end a word, where whitespace boundaries stand; none by default.
            special_tokens: Ids of the special tokens.
        """
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.pad = special_tokens.pad
        self.checkpointed = False
        if separators is None:
            separators = torch.zeros(vocabulary, dtype=torch.bool)
        self.embedding = nn.Embedding(vocabulary, config.dim, padding_idx=self.pad)
        relative = config.positions == "relative"
        self.embed = Embed(
            self.embedding,
            "none" if relative else "sinusoidal",
            config.length,
            scaled=not relative,
            normalised=False,
            dropout=config.dropout,
        )
        shape = (config.heads, config.dim // config.heads)
        self.content_bias = nn.Parameter(torch.empty(shape)) if relative else None
        self.position_bias = nn.Parameter(torch.empty(shape)) if relative else None
        self.layers = Hourglass(config, self.embedding, separators, pad=self.pad)
        self.head = nn.Linear(config.dim, vocabulary, bias=False)
        # Weights of linear maps, embeddings and biases of attention from N(0, 0.02); other biases are 0.
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=INIT_STD)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        if self.content_bias is not None and self.position_bias is not None:
            nn.init.normal_(self.content_bias, std=INIT_STD)
            nn.init.normal_(self.position_bias, std=INIT_STD)
        with torch.no_grad():
            self.embedding.weight[self.pad].zero_()

    def checkpoint_activations(self, on: bool = True) -> None:
        """Store only the inputs of layers for the backward pass, and recompute their activations."""
        self.checkpointed = on

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        sentences: Tensor,
        target: Tensor,
        phrases: Tensor | None = None,
        smoothing: float = 0.0,
        *,
        lengths: Sequence[int] | None = None,
    ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
        """Score next tokens: their log-probabilities, auxiliary losses of the boundaries, and metrics.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens, which stand first.
            sentences: Not used.
            target: (batch, length), token after each of `ids`; padding does not count.
            phrases: (batch, length), segment number of each token from a teacher, -1 at padding.
            smoothing: Label smoothing, in [0, 1).
            lengths: Not used.
        """
        del sentences, lengths
        tokens = self._tokens(ids, mask, phrases)
        states, segmentations, metrics = self.layers(tokens, self._biases(), self.checkpointed)
        nll, log_prob = cross_entropy(states, self.head.weight, None, target, self.pad, smoothing)
        losses: dict[str, Tensor] = {}
        for segmentation in segmentations:
            level = segmentation.losses
            if segmentation.spike_loss and self.training:
                level = {"boundaries": segmentation.spike_loss(self._entropy(states.detach()))}
            losses |= {name: losses[name] + loss if name in losses else loss for name, loss in level.items()}

        def distribution(part: slice) -> Tensor:
            return at_least_float32(self.head(states[:, part])).log_softmax(2)

        return Scores(nll, log_prob, distribution=distribution), losses, metrics

    def logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the logits of the token after each of `ids`, (batch, length, vocab); arguments as in `forward`."""
        states, *_ = self.layers(self._tokens(ids, mask), self._biases(), self.checkpointed)
        return at_least_float32(self.head(states))

    def boundaries_of(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the outermost boundaries, (batch, length), True at the last token of a segment.

        A model without shortening ends a segment at every token. Arguments as in `forward`.
        """
        if self.layers.inner is None:
            return mask
        return (self.layers.segment(self._tokens(ids, mask), self._biases())[1].ends > 0.5) & mask

    def _tokens(self, ids: Tensor, mask: Tensor, phrases: Tensor | None = None) -> Tokens:
        positions = torch.arange(ids.size(1), device=ids.device).expand(ids.shape)
        return as_tokens(self.embed(ids, mask, positions), ids, mask, phrases)

    def _biases(self) -> Biases:
        if self.content_bias is None or self.position_bias is None:
            return None
        return self.content_bias, self.position_bias

    @torch.no_grad()
    def _entropy(self, states: Tensor) -> Tensor:
        """Entropy of the prediction at each position (batch, length, dim) in nats, (batch, length), in chunks."""
        entropies = []
        for rows in states.flatten(0, 1).split(max(1, MAX_LOGITS // self.vocabulary)):
            log_probs = at_least_float32(self.head(rows)).log_softmax(1)
            entropies.append(-(log_probs.exp() * log_probs).sum(1))
        return torch.cat(entropies).view(states.shape[:2])
