"""Generation: a batch of chunks is encoded once, then decoded by sampling, to extract sentences, or by beam search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import final
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from sumpool.core.decoding.beam import is_host, sample, search
from sumpool.core.decoding.config import DecodingConfig, Hypothesis, Lengths, LengthTarget
from sumpool.core.decoding.constraints import (
    Constraint,
    LengthLimits,
    NoRepeatTokens,
    NoRepeatWords,
    Rules,
    TokenSurfaces,
    length_limits,
)
from sumpool.core.model.cuda_graph import GraphedDecoder
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.nn.layers import one_thread
from sumpool.core.nn.numerics import to_device
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.errors import RecipeError, ResourceError, is_out_of_memory
from sumpool.text.tokenizer import Tokenizer

_SINGLE_THREAD_DIM, _SINGLE_THREAD_CHUNKS = 256, 4
"""Width of the model and chunks of a batch up to which decoding runs on one thread."""
_MIN_OF_PREDICTED, _MAX_OF_PREDICTED = 0.8, 1.25
"""Shortest and longest summary relative to a predicted length."""


@dataclass(frozen=True)
class Generated:
    """Summary of a chunk.

    Attributes:
        text: The best hypothesis; empty in mode extractive.
        score: Score of the best hypothesis by the length formula of the settings, higher is better; None in mode
            extractive.
        samples: Sampled summaries; empty in mode abstractive without `summarize.mbr`.
    """

    text: str
    score: float | None
    samples: tuple[str, ...] = ()


@final
class Generator:
    """Generates summaries with one model under one set of settings, after training and for validation within it."""

    def __init__(
        self, model: SummarizationModel, tokenizer: Tokenizer, config: DecodingConfig, lengths: Lengths
    ) -> None:
        """Prepare the decoder and the constraints.

        Args:
            model: The model on its device; `generate` expects it in evaluation mode.
            tokenizer: Its tokenizer.
            config: Settings; of the lengths only whether they are "auto", of the precision nothing is read.
            lengths: Shortest and longest summary, as fixed by the settings or chosen by the training summaries.

        Raises:
            RecipeError: If the settings begin summaries with a token that the model does not have.
        """
        beyond = [token for token in config.begin_with if token >= model.vocabulary]
        if beyond:
            raise RecipeError(
                f"summarize.begin_with must hold ids below the vocabulary of the model, {model.vocabulary}, got "
                f"{beyond[0]}"
            )
        self._model = model
        self._tokenizer = tokenizer
        self._config = config
        self._lengths = lengths
        self._decoder = GraphedDecoder(model)
        self._is_small = model.config.dim <= _SINGLE_THREAD_DIM
        constraints: list[Constraint] = []
        if config.no_repeat_words:
            constraints.append(NoRepeatWords(config.no_repeat_words, self._token_surfaces))
        if config.no_repeat_tokens:
            constraints.append(NoRepeatTokens(config.no_repeat_tokens))
        self._rules = Rules(config.begin_with, constraints, model.special_tokens)

    def generate(
        self,
        chunks: Sequence[Item],
        targets: Sequence[LengthTarget | None] = (),
    ) -> list[Generated]:
        """Summarise a batch of chunks; no summary is longer than its chunk.

        A batch that exceeds the memory is generated in halves, with the same results.

        Args:
            chunks: The chunks.
            targets: For each chunk, the length of its summary in place of that of the settings, or None; those that the
                model cannot write are ignored. Empty if no chunk has any.

        Raises:
            ResourceError: If a single chunk exceeds the memory.
        """
        longest = self._model.config.target_length  # of which EOS takes one
        targets = [target if target and target.tokens < longest else None for target in targets or [None] * len(chunks)]
        try:
            with one_thread(self._is_small and len(chunks) <= _SINGLE_THREAD_CHUNKS):
                return self._generate(chunks, targets)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if len(chunks) == 1:
                raise ResourceError(
                    f"memory must hold {chunks[0].id}, {len(chunks[0].ids):,} tokens with {self._config.beams} "
                    "beams, but it ran out; lower summarize.beams"
                ) from error
        half = len(chunks) // 2  # outside the handler, whose traceback keeps the tensors of the failed attempt alive
        first = self.generate(chunks[:half], targets[:half])
        return first + self.generate(chunks[half:], targets[half:])

    @torch.inference_mode()
    def _generate(
        self,
        chunks: Sequence[Item],
        targets: Sequence[LengthTarget | None],
    ) -> list[Generated]:
        model = self._model
        memory = self._encode(chunks)
        lengths = self._bounds(model.predict_lengths(memory), chunks, targets)
        samples: Sequence[tuple[str, ...]] = [()] * len(chunks)
        if self._config.mode == "extractive" or self._config.mbr:
            samples = self._sample(chunks, memory, lengths, targets)
        if self._config.mode == "extractive":
            return [Generated("", None, sampled) for sampled in samples]
        hypotheses = self._search(memory, lengths, targets)
        return [
            Generated(self._decode(best.tokens), best.score, sampled)
            for best, sampled in zip(hypotheses, samples, strict=True)
        ]

    def _encode(self, chunks: Sequence[Item]) -> Memory:
        """Encode chunks, one by one where a batch of them gains no speed: batch mates then change no shape.

        Padding and the number of rows select other kernels, which add in another order. The last bit of a state may
        decide how it is rounded to eight bits, and that which token is drawn.
        """
        model = self._model
        device = model.embedding.weight.device
        lengths = (model.config.source_length, model.config.target_length)
        memories: list[Memory] = []
        for part in [[chunk] for chunk in chunks] if is_host(device) else [chunks]:
            batch = collate(part, *lengths, special_tokens=model.special_tokens).to(device)
            memories.append(model.encode(batch.ids, batch.mask, batch.sentences, lengths=batch.lengths))
        return Memory.join(memories) if is_host(device) else memories[0]

    def _bounds(
        self, predicted: Tensor | None, chunks: Sequence[Item], targets: Sequence[LengthTarget | None]
    ) -> list[Lengths]:
        """Return the bounds of summaries in tokens: around the target or the predicted length if any, within the chunk.

        A predicted length counts EOS, (batch,), and leaves the lengths that the settings fix.
        """
        usual, config = [self._lengths] * len(chunks), self._config
        if predicted is not None:
            usual, (least, most, _) = [], self._lengths
            for length in predicted.tolist():
                lower, upper, likely = least, most, None
                if config.min_length == "auto":
                    lower = min(round(_MIN_OF_PREDICTED * length), most)
                if config.max_length == "auto":
                    upper = max(lower, min(round(_MAX_OF_PREDICTED * length), most))
                    likely = max(lower, min(round(length), upper))
                usual.append(Lengths(lower, upper, likely))
        last = self._model.config.target_length - 1  # EOS takes a token
        bounds = [
            Lengths(0, last, target.tokens) if target else limits for target, limits in zip(targets, usual, strict=True)
        ]
        return [limits.clip(len(chunk.ids)) for limits, chunk in zip(bounds, chunks, strict=True)]

    def _search(
        self,
        memory: Memory,
        lengths: Sequence[Lengths],
        targets: Sequence[LengthTarget | None],
    ) -> list[Hypothesis]:
        """Return the best hypothesis of each chunk; with a target length, the best that ends with a sentence if any."""
        longest = max(len(self._config.begin_with), *(bounds.maximum for bounds in lengths))
        state = _with_targets(self._decoder.start(memory, self._config.beams, longest), targets)
        eos = self._model.special_tokens.eos
        limits = [[length_limits(target, self._token_surfaces, eos)] if target else [] for target in targets]
        hypotheses = search(
            self._decoder.step,
            state,
            lengths,
            self._config.ranking(),
            self._rules,
            limits=limits,
            device=memory.source.ids.device,
        )

        def is_complete(best: Hypothesis, rules: Sequence[LengthLimits]) -> bool:
            return all(reduce(lambda rule, token: rule.after(token), best.tokens, rule).is_met() for rule in rules)

        return [
            next((best for best in found if is_complete(best, rules)), found[0])
            for found, rules in zip(hypotheses, limits, strict=True)
        ]

    @cached_property
    def _token_surfaces(self) -> TokenSurfaces:
        return TokenSurfaces(self._tokenizer.token_bytes())

    def _sample(
        self,
        chunks: Sequence[Item],
        memory: Memory,
        lengths: Sequence[Lengths],
        targets: Sequence[LengthTarget | None],
    ) -> list[tuple[str, ...]]:
        """Sample summaries of half to twice their length, or the target's, seeded by the chunk's tokens."""
        target_length = self._model.config.target_length
        bounds = []
        for limits, chunk, target in zip(lengths, chunks, targets, strict=True):
            shortest, longest, _ = Lengths(target.tokens, target.tokens) if target else limits
            bounds.append(Lengths(shortest // 2, min(2 * longest, target_length - 1)).clip(len(chunk.ids)))
        generators = [np.random.default_rng(crc32(chunk.ids.tobytes())) for chunk in chunks]
        uniform = [random.random((self._config.samples, target_length), np.float32) for random in generators]
        sampled = sample(
            self._decoder.step,
            _with_targets(self._decoder.start(memory, self._config.samples, target_length, independent=True), targets),
            bounds,
            to_device(torch.from_numpy(np.stack(uniform)), memory.source.ids),
            self._config.temperature,
            self._rules,
        )
        return [tuple(map(self._decode, tokens)) for tokens in sampled]

    def _decode(self, tokens: Sequence[int]) -> str:
        return self._tokenizer.decode(tokens).strip()


def _with_targets(state: DecoderState, targets: Sequence[LengthTarget | None]) -> DecoderState:
    """Condition the decoder on the target lengths, EOS included, if the model predicts lengths."""
    predicted = state.predicted_lengths
    if predicted is None or not any(targets):
        return state
    tokens = [target.tokens + 1 if target else 0 for target in targets]
    return replace(
        state, predicted_lengths=predicted.where(predicted.new_tensor(tokens) == 0, predicted.new_tensor(tokens))
    )
