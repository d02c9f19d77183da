"""Language model with dynamic token pooling (Nawrot et al., 2023, arXiv:2211.09761), and its baselines.

Without boundaries it is a Transformer, with the attention of Transformer-XL or with absolute positions; with boundaries
the middle layers work on segments (`core/model/hourglass.py`). Logits of a token depend on it and on those before it,
for every kind of boundary, and neither padding nor batch mates change them.

Departures from the released code: the output projection has no bias, sampled boundaries are the same for the same text
in evaluation, and pre-norm works, with a layer normalisation before the output projection.
"""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.model.hourglass import Hourglass, HourglassCache, as_tokens
from sumpool.core.model.language_model_config import LanguageModelConfig
from sumpool.core.model.text_layers import Biases
from sumpool.core.nn.cross_entropy import MAX_LOGITS, cross_entropy
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import Embed
from sumpool.core.output._base import Scores
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens

INIT_STD = 0.02


@final
class LanguageModel(nn.Module):
    """Causal language model over characters, bytes or subwords."""

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
            "none" if config.positions == "relative" else config.positions,
            config.length,
            scaled=not relative,
            normalised=False,
            dropout=config.dropout,
        )
        shape = (config.heads, config.dim // config.heads)
        self.content_bias = nn.Parameter(torch.empty(shape)) if relative else None
        self.position_bias = nn.Parameter(torch.empty(shape)) if relative else None
        self.layers = Hourglass(config, self.embedding, separators, pad=self.pad)
        self.norm = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
        self.head = nn.Linear(config.dim, vocabulary, bias=False)
        self._initialise()

    def _initialise(self) -> None:
        """Draw weights of linear maps, embeddings and biases of attention from N(0, 0.02); other biases are 0."""
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

        Raises:
            ValueError: If a text exceeds the positions that the model has learned.
        """
        del sentences, lengths
        output = self.layers(as_tokens(self._embed(ids, mask), ids, mask, phrases), self._biases(), self.checkpointed)
        states = self.norm(output.states)
        nll, log_prob = cross_entropy(states, self.head.weight, None, target, self.pad, smoothing)
        losses: dict[str, Tensor] = {}
        for segmentation in output.segmentations:
            level = segmentation.losses
            if segmentation.spike_loss and self.training:
                level = {"boundaries": segmentation.spike_loss(self._entropy(states.detach()))}
            losses |= {name: losses[name] + loss if name in losses else loss for name, loss in level.items()}

        def distribution(part: slice) -> Tensor:
            return at_least_float32(self.head(states[:, part])).log_softmax(2)

        return Scores(nll, log_prob, distribution=distribution), losses, output.metrics

    def logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the logits of the token after each of `ids`, (batch, length, vocab); arguments as in `forward`."""
        output = self.layers(as_tokens(self._embed(ids, mask), ids, mask), self._biases(), self.checkpointed)
        return at_least_float32(self.head(self.norm(output.states)))

    def boundaries_of(self, ids: Tensor, mask: Tensor, phrases: Tensor | None = None) -> Tensor:
        """Return the outermost boundaries, (batch, length), True at the last token of a segment.

        A model without shortening ends a segment at every token. Arguments as in `forward`; phrases are not used.
        """
        del phrases
        if self.layers.inner is None:
            return mask
        tokens = as_tokens(self._embed(ids, mask), ids, mask)
        return (self.layers.segment(tokens, self._biases())[1].ends > 0.5) & mask

    def start(self, batch: int) -> HourglassCache:
        """Return the cache before the first token of a batch of texts."""
        return self.layers.start(batch, self._biases())

    def step(self, ids: Tensor, cache: HourglassCache) -> tuple[Tensor, HourglassCache]:
        """Read a token of each text, and decide whether it ends a segment.

        Args:
            ids: (batch,).
            cache: Cache of the preceding step, which is changed.

        Returns:
            Logits of the next token (batch, vocab), and the cache.
        """
        column, mask = ids[:, None], torch.ones_like(ids[:, None], dtype=torch.bool)
        states = self._embed(column, mask, cache.index[0]).squeeze(1)
        states = self.layers.step(states, ids, list(range(len(ids))), cache, self._biases())
        return at_least_float32(self.head(self.norm(states))), cache

    def _embed(self, ids: Tensor, mask: Tensor, first: int = 0) -> Tensor:
        """Embed tokens (batch, length) that begin at a position: (batch, length, dim)."""
        if self.config.positions == "learned" and first + ids.size(1) > self.config.length:
            raise ValueError(
                f"length must be at most {self.config.length} with learned positions, got {first + ids.size(1)}"
            )
        positions = torch.arange(first, first + ids.size(1), device=ids.device).expand(ids.shape)
        states: Tensor = self.embed(ids, mask, positions)
        return states

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
