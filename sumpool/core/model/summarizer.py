"""The whole model: documents -> log-probabilities of summaries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.cross_attention import CrossAttentionOutput
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import Decoder
from sumpool.core.model.encoder import Encoder, Memory, initialise_embeddings, initialise_linear
from sumpool.core.model.kv_cache import BeamCache, CompactingCache, StaticCache, rows_of
from sumpool.core.output import Scores
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens


@dataclass(frozen=True)
class DecoderState:
    """State of a search between two steps; rows are hypotheses, those of a document side by side, (batch * beams, ...).

    A search continues from every state at most once, since the KV cache is written in place.

    Attributes:
        cross_cache: For each layer, the document's projections of its cross-attention, shared by all beams.
        copy_cache: Projections of the source by the output head, shared by all beams.
        previous_token: (batch, beams), the token before the last one.
        self_cache: KV cache of the decoder's self-attention; each sample is a document of it.
        predicted_lengths: (batch,), tokens of each summary; None without a length predictor.
    """

    cross_cache: list[dict[str, Tensor]]
    copy_cache: dict[str, Tensor]
    previous_token: Tensor
    self_cache: BeamCache
    predicted_lengths: Tensor | None = None

    def reorder(self, rows: Tensor) -> "DecoderState":
        """Continue other hypotheses, or fewer: row i continues row rows[i], of the same document."""
        documents = len(self.previous_token)
        previous_token = self.previous_token.flatten().index_select(0, rows).unflatten(0, (documents, -1))
        return replace(self, previous_token=previous_token, self_cache=self.self_cache.reorder(rows))

    def select(self, documents: Tensor) -> "DecoderState":
        """Continue with these documents only, (fewer,) indices."""
        in_cache = rows_of(documents, len(self.self_cache.ancestry_bias) // len(self.previous_token))
        return self._map(lambda tensor: tensor.index_select(0, documents), self.self_cache.select(in_cache))

    def map_tensors(self, function: Callable[[Tensor], Tensor]) -> "DecoderState":
        """Apply a function to every tensor."""
        return self._map(function, self.self_cache.map_tensors(function))

    def _map(self, function: Callable[[Tensor], Tensor], self_cache: BeamCache) -> "DecoderState":
        return DecoderState(
            cross_cache=[{name: function(value) for name, value in layer.items()} for layer in self.cross_cache],
            copy_cache={name: function(value) for name, value in self.copy_cache.items()},
            previous_token=function(self.previous_token),
            self_cache=self_cache,
            predicted_lengths=None if self.predicted_lengths is None else function(self.predicted_lengths),
        )


@final
class SummarizationModel(nn.Module):
    """Encoder, decoder and output head with one shared embedding.

    Padding, batch mates and their order never change the result of a document.
    """

    def __init__(
        self,
        config: ModelConfig,
        vocabulary: int,
        word_starts: Tensor | None = None,
        special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
    ) -> None:
        """Build with random weights.

        Args:
            config: The model's settings.
            vocabulary: Number of tokens, special tokens included.
            word_starts: (vocab,), True at tokens that begin a word; every token does by default.
            special_tokens: Ids of the special tokens.
        """
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.special_tokens = special_tokens
        self.embedding = nn.Embedding(vocabulary, config.dim, padding_idx=special_tokens.pad)
        if word_starts is None:
            word_starts = torch.ones(vocabulary, dtype=torch.bool)
        self.encoder = Encoder(config, self.embedding, word_starts)
        self.decoder = Decoder(config, self.embedding)
        self.output = config.output.build(self.embedding)
        initialise_linear((self.encoder.layers, self.decoder.layers, self.decoder.memory_encoder))
        initialise_embeddings(self.embedding, (self.encoder.embed, self.decoder.embed), special_tokens.pad)

    def checkpoint_activations(self, on: bool = True) -> None:
        """Store only the inputs of layers for the backward pass, and recompute their activations."""
        self.encoder.checkpoint_activations = self.decoder.checkpoint_activations = on

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
        """Encode and score in one call: scores of the references, auxiliary losses, and metrics."""
        memory = self.encode(ids, mask, sentences, phrases, lengths=lengths)
        scores = self.score(memory, target, smoothing)
        return scores, memory.tokens.losses | scores.losses, memory.tokens.metrics | scores.metrics

    def encode(
        self,
        ids: Tensor,
        mask: Tensor,
        sentences: Tensor,
        phrases: Tensor | None = None,
        *,
        lengths: Sequence[int] | None = None,
    ) -> Memory:
        """Encode documents.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            phrases: (batch, length), phrase number of each token, the reference of learned boundaries.
            lengths: Real tokens of each document; None reads them from the mask, for which the host waits.

        Raises:
            ValueError: If length exceeds the model's source_length.
        """
        if ids.size(1) > self.config.source_length:
            raise ValueError(f"length must be at most source_length = {self.config.source_length}, got {ids.size(1)}")
        memory: Memory = self.encoder(ids, mask, sentences, phrases, self.output.project_source, lengths=lengths)
        return memory

    def score(self, memory: Memory, target: Tensor, smoothing: float = 0.0) -> Scores:
        """Compute log-probabilities of references, each token given those before it.

        Args:
            memory: The documents.
            target: (batch, target), ended by EOS and padded.
            smoothing: Label smoothing, in [0, 1).
        """
        history = self.history(target)
        lengths: Tensor | None = None  # that the decoder is conditioned on, (batch,)
        losses: dict[str, Tensor] = {}
        predictor = self.decoder.length_predictor
        if predictor is not None:
            log_lengths = predictor(memory.tokens)
            lengths = predictor.jitter(target) if self.training else log_lengths.exp()
            losses["length"] = predictor.loss(log_lengths, target)
        decoded: CrossAttentionOutput = self.decoder(
            history[..., 0], self.decoder.precompute(memory.tokens), target != self.special_tokens.pad, lengths
        )
        copy_cache = self.output.precompute(memory.source, memory.tokens, memory.mixtures)
        scores = self.output.score(decoded.states, history, copy_cache, target, smoothing)
        return replace(scores, losses=decoded.losses | losses, metrics=decoded.metrics)

    def history(self, target: Tensor) -> Tensor:
        """Return the token before each reference token, the decoder's input, and the one before that.

        Args:
            target: (batch, target).

        Returns:
            (batch, target, 2), padding where there is no token.
        """
        inputs = F.pad(target[:, :-1], (1, 0), value=self.special_tokens.decoder_start)
        return torch.stack([inputs, F.pad(inputs[:, :-1], (1, 0), value=self.special_tokens.pad)], dim=-1)

    def predict_lengths(self, memory: Memory) -> Tensor | None:
        """Predict the tokens of each summary (batch,), EOS included; None without a length predictor."""
        predictor = self.decoder.length_predictor
        return None if predictor is None else predictor(memory.tokens).exp()

    def start(self, memory: Memory, beams: int, steps: int | None = None, *, independent: bool = False) -> DecoderState:
        """Return the state of a search before its first step.

        Args:
            memory: The documents.
            beams: Hypotheses of each document.
            steps: Maximum number of steps, that of BOS included: the cache is static, so that `GraphedDecoder` can
                capture a step. None grows the cache on demand, which is faster on a CPU.
            independent: Whether no hypothesis continues another one, as with samples: none scores the tokens of others.
        """
        documents, device = len(memory.source.ids), memory.source.ids.device
        cached = (documents * beams, 1, device) if independent else (documents, beams, device)
        return DecoderState(
            cross_cache=self.decoder.precompute(memory.tokens),
            copy_cache=self.output.precompute(memory.source, memory.tokens, memory.mixtures),
            previous_token=memory.source.ids.new_full((documents, beams), self.special_tokens.pad),
            self_cache=CompactingCache.empty(*cached) if steps is None else StaticCache.empty(*cached, steps),
            predicted_lengths=self.predict_lengths(memory),
        )

    def step(self, last: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Compute the distribution of the next token of every hypothesis.

        Args:
            last: (batch * beams,), the newest token of each; BOS at first.
            state: State of the search.

        Returns:
            Log-probabilities (batch * beams, vocab), and the state after `last`.
        """
        newest = last.view(state.previous_token.shape)  # (batch, beams)
        states, self_cache = self.decoder.step(newest, state.self_cache, state.cross_cache, state.predicted_lengths)
        history = torch.stack([newest, state.previous_token], dim=-1)  # (batch, beams, 2)
        log_probs: Tensor = self.output(states, history, state.copy_cache)  # (batch, beams, vocab)
        return log_probs.flatten(0, 1), replace(state, previous_token=newest, self_cache=self_cache)
