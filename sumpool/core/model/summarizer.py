"""The whole model: documents in, log-probabilities of summaries out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.cross_attention._base import CrossAttentionOutput
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import Decoder
from sumpool.core.model.encoder import Encoder, EncoderOutput
from sumpool.core.model.kv_cache import BeamCache, CompactingCache, StaticCache
from sumpool.core.nn.mixture import Mixtures
from sumpool.core.output._base import Scores
from sumpool.core.tokens import Tokens
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens


@dataclass(frozen=True)
class Memory:
    """Encoded documents, ready to be written about.

    Attributes:
        tokens: What pooling left; cross-attention sees it.
        source: What the output head takes of the vectors before the first pooling.
        ids: (batch, length), the source.
        mixtures: What each pooling, first to last, made of the vectors before it.
    """

    tokens: Tokens
    source: Tokens
    ids: Tensor
    mixtures: Mixtures = ()


@dataclass(frozen=True)
class DecoderState:
    """Where a search stands: rows are hypotheses, those of one document together, (batch * beams, ...).

    A search goes on from every state at most once, as what is written is kept in place.

    Attributes:
        seen: For each layer, what its cross-attention remembers of the documents; shared by their beams.
        copied: What the output head remembers of the documents.
        before: (batch, beams), the token before the last one.
        written: What the layers keep of what was written.
        planned: (batch,), how many tokens each summary is to have; None where lengths have no plan.
    """

    seen: list[dict[str, Tensor]]
    copied: dict[str, Tensor]
    before: Tensor
    written: BeamCache
    planned: Tensor | None = None

    def reorder(self, rows: Tensor) -> "DecoderState":
        """Follow other hypotheses, or fewer: row i goes on from row rows[i], of the same document."""
        before = self.before.flatten().index_select(0, rows).unflatten(0, (len(self.before), -1))
        return replace(self, before=before, written=self.written.take(rows))

    def select(self, documents: Tensor) -> "DecoderState":
        """Go on with these documents only, (fewer,) indices."""
        return DecoderState(
            seen=[_pick(layer, documents) for layer in self.seen],
            copied=_pick(self.copied, documents),
            before=self.before.index_select(0, documents),
            written=self.written.select(documents),
            planned=None if self.planned is None else self.planned.index_select(0, documents),
        )

    def apply(self, change: Callable[[Tensor], Tensor]) -> "DecoderState":
        """Change every tensor."""
        return DecoderState(
            seen=[{name: change(value) for name, value in layer.items()} for layer in self.seen],
            copied={name: change(value) for name, value in self.copied.items()},
            before=change(self.before),
            written=self.written.apply(change),
            planned=None if self.planned is None else change(self.planned),
        )


def _pick(precomputed: dict[str, Tensor], documents: Tensor) -> dict[str, Tensor]:
    return {name: value.index_select(0, documents) for name, value in precomputed.items()}


@final
class SummarizationModel(nn.Module):
    """Encoder, decoder and output head over one shared embedding.

    Padding, batch mates and their order never change what comes out for a document.
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
        self._initialise()

    def _initialise(self) -> None:
        """Xavier for the maps of the layers; a new embedding has vectors of length one, padding is zero."""
        for part in (self.encoder.layers, self.decoder.layers, self.decoder.memory_encoder):
            for module in part.modules():
                if isinstance(module, nn.Linear):
                    nn.init.xavier_uniform_(module.weight)
                    nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=self.config.dim**-0.5)
        for embed in (self.encoder.embed, self.decoder.embed):
            if embed.positions is not None:
                nn.init.normal_(embed.positions.weight, std=embed.scale * self.config.dim**-0.5)
        with torch.no_grad():
            self.embedding.weight[self.special_tokens.pad].zero_()

    def checkpoint_activations(self, on: bool = True) -> None:
        """Hold only what each layer was given on the way to a gradient, and work out again what happened inside."""
        self.encoder.checkpoint_activations = self.decoder.checkpoint_activations = on

    def encode(self, ids: Tensor, mask: Tensor, sentences: Tensor, phrases: Tensor | None = None) -> Memory:
        """Read documents.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            sentences: (batch, length), sentence number of each token.
            phrases: (batch, length), phrase number of each token, for boundaries that learn from a teacher.

        Raises:
            ValueError: If length exceeds the model's source_length.
        """
        if ids.size(1) > self.config.source_length:
            raise ValueError(f"length must be at most source_length = {self.config.source_length}, got {ids.size(1)}")
        encoded: EncoderOutput = self.encoder(ids, mask, sentences, phrases, self.output.see)
        return Memory(encoded.memory, encoded.source, ids, encoded.mixtures)

    def score(self, memory: Memory, target: Tensor, smoothing: float = 0.0) -> Scores:
        """Score references, each token given those before it.

        Args:
            memory: The documents.
            target: (batch, target), closed by END and padded; the first token is foreseen from BEGIN.
            smoothing: Weight of the uniform distribution in what is to be foreseen, in [0, 1).
        """
        pad = self.special_tokens.pad
        inputs = F.pad(target[:, :-1], (1, 0), value=self.special_tokens.decoder_start)
        history = torch.stack([inputs, F.pad(inputs[:, :-1], (1, 0), value=pad)], dim=-1)
        planned, losses = self._target_lengths(memory.tokens, target)
        decoded: CrossAttentionOutput = self.decoder(
            inputs, self.decoder.precompute(memory.tokens), target != pad, planned
        )
        copied = self.output.precompute(memory.ids, memory.source, memory.tokens, memory.mixtures)
        scores = self.output.score(decoded.states, history, copied, target, smoothing)
        return replace(scores, losses=decoded.losses | losses, metrics=decoded.metrics)

    def _target_lengths(self, memory: Tokens, target: Tensor) -> tuple[Tensor | None, dict[str, Tensor]]:
        """Lengths (batch,) that the decoder is conditioned on for references (batch, target), and the length loss."""
        predictor = self.decoder.length_predictor
        if predictor is None:
            return None, {}
        log_lengths = predictor(memory)
        lengths = predictor.jitter(target) if self.training else log_lengths.exp()
        return lengths, {"length": predictor.loss(log_lengths, target)}

    def predict_lengths(self, memory: Memory) -> Tensor | None:
        """Predict the tokens of each summary (batch,), EOS included; None without a length predictor."""
        predictor = self.decoder.length_predictor
        return None if predictor is None else predictor(memory.tokens).exp()

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        sentences: Tensor,
        target: Tensor,
        phrases: Tensor | None = None,
        smoothing: float = 0.0,
    ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
        """Encode and score in one call: scores of the references, auxiliary losses, and signs of health."""
        memory = self.encode(ids, mask, sentences, phrases)
        scores = self.score(memory, target, smoothing)
        return scores, memory.tokens.losses | scores.losses, memory.tokens.metrics | scores.metrics

    def start(self, memory: Memory, beams: int, steps: int | None = None) -> DecoderState:
        """Begin a search.

        Args:
            memory: The documents.
            beams: Hypotheses that each document's search follows.
            steps: Most steps of the search, BOS counted: then no step changes a shape, so that `GraphedDecoder` can
                capture one, and each does the work of the longest. None grows the cache on demand, faster on a CPU.
        """
        documents, device = memory.ids.size(0), memory.ids.device
        return DecoderState(
            seen=self.decoder.precompute(memory.tokens),
            copied=self.output.precompute(memory.ids, memory.source, memory.tokens, memory.mixtures),
            before=memory.ids.new_full((documents, beams), self.special_tokens.pad),
            written=CompactingCache.nothing(documents, beams, device)
            if steps is None
            else StaticCache.nothing(documents, beams, steps, device),
            planned=self.predict_lengths(memory),
        )

    def step(self, last: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Foresee the next token of every hypothesis.

        Args:
            last: (batch * beams,), the newest token of each; BEGIN at first.
            state: Where the search stands.

        Returns:
            Log-probabilities (batch * beams, vocab), and the state with `last` written.
        """
        newest = last.view(state.before.shape)  # (batch, beams)
        states, written = self.decoder.step(newest, state.written, state.seen, state.planned)
        history = torch.stack([newest, state.before], dim=-1)  # (batch, beams, 2)
        log_probs: Tensor = self.output(states, history, state.copied)  # (batch, beams, vocab)
        return log_probs.flatten(0, 1), replace(state, before=newest, written=written)
