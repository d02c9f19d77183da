"""Generation: a batch of chunks is encoded once, then decoded by beam search and, for extraction, by sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final
from zlib import crc32

import numpy as np
import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import Constraint, NoRepeatTokens, NoRepeatWords, Rules, TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.decoding.sampling import sample
from sumpool.core.model.cuda_graph import GraphedDecoder
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.nn.execution import one_thread
from sumpool.data.batches import Item, collate
from sumpool.errors import ResourceError, is_out_of_memory
from sumpool.text.tokenizer import Tokenizer

_MIN_OF_PREDICTED, _MAX_OF_PREDICTED = 0.8, 1.25
"""Shortest and longest summary relative to a predicted length."""
_SINGLE_THREAD_DIM, _SINGLE_THREAD_CHUNKS = 256, 4
"""Width of the model and chunks of a batch up to which decoding runs on one thread."""


@dataclass(frozen=True)
class Generated:
    """Summary of a chunk.

    Attributes:
        text: The best hypothesis.
        score: Score of the hypothesis by the length formula of the settings; higher is better.
        samples: Sampled summaries for MBR extraction; empty in abstractive mode.
    """

    text: str
    score: float
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
        """
        self._model = model
        self._tokenizer = tokenizer
        self._config = config
        self._lengths = lengths
        self._decoder = GraphedDecoder(model)
        self._is_small = model.config.dim <= _SINGLE_THREAD_DIM
        constraints: list[Constraint] = []
        if config.no_repeat_words:
            constraints.append(NoRepeatWords(config.no_repeat_words, TokenSurfaces(tokenizer.token_bytes())))
        if config.no_repeat_tokens:
            constraints.append(NoRepeatTokens(config.no_repeat_tokens))
        self._rules = Rules(config.begin_with, constraints, model.special_tokens)

    def generate(self, chunks: Sequence[Item]) -> list[Generated]:
        """Summarise a batch of chunks; no summary is longer than its chunk.

        A batch that exceeds the memory is generated in halves, with the same results.

        Raises:
            ResourceError: If a single chunk exceeds the memory.
        """
        try:
            with one_thread(self._is_small and len(chunks) <= _SINGLE_THREAD_CHUNKS):
                return self._generate(chunks)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if len(chunks) == 1:
                raise ResourceError(
                    f"memory must hold {chunks[0].id}, {len(chunks[0].ids):,} tokens with {self._config.beams} "
                    "beams, but it ran out; lower summarize.beams"
                ) from error
        half = len(chunks) // 2  # outside the handler, whose traceback keeps the tensors of the failed attempt alive
        return self.generate(chunks[:half]) + self.generate(chunks[half:])

    @torch.inference_mode()
    def _generate(self, chunks: Sequence[Item]) -> list[Generated]:
        model = self._model
        device = model.embedding.weight.device
        batch = collate(
            chunks, model.config.source_length, model.config.target_length, special_tokens=model.special_tokens
        ).to(device)
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        lengths = self._choose_lengths(memory, chunks)
        longest = max(len(self._config.begin_with), *(bounds.maximum for bounds in lengths))
        hypotheses = search(
            self._decoder.step,
            self._decoder.start(memory, self._config.beams, longest),
            lengths,
            self._config.ranking(),
            self._rules,
            device=device,
        )
        best = [first for first, *_ in hypotheses]
        samples = self._sample(chunks, memory, lengths) if self._config.mode != "abstractive" else [()] * len(best)
        return [
            Generated(self._decode(first.tokens), first.score, sampled)
            for first, sampled in zip(best, samples, strict=True)
        ]

    def _sample(self, chunks: Sequence[Item], memory: Memory, lengths: Sequence[Lengths]) -> list[tuple[str, ...]]:
        """Sample summaries of half the shortest to twice the longest length, seeded by the chunk's tokens."""
        target_length = self._model.config.target_length
        wide = [Lengths(shortest // 2, min(2 * longest, target_length - 1)) for shortest, longest, _ in lengths]
        bounds = [_clip(bounds, len(chunk.ids)) for bounds, chunk in zip(wide, chunks, strict=True)]
        generators = [np.random.default_rng(crc32(chunk.ids.tobytes())) for chunk in chunks]
        uniform = [random.random((self._config.samples, target_length), np.float32) for random in generators]
        sampled = sample(
            self._decoder.step,
            self._decoder.start(memory, self._config.samples, target_length),
            bounds,
            torch.from_numpy(np.stack(uniform)).to(memory.ids.device),
            self._config.temperature,
            self._rules,
        )
        return [tuple(map(self._decode, tokens)) for tokens in sampled]

    def _decode(self, tokens: Sequence[int]) -> str:
        return self._tokenizer.decode(tokens).strip()

    def _choose_lengths(self, memory: Memory, chunks: Sequence[Item]) -> list[Lengths]:
        """Bounds of each summary: around the predicted length if the model predicts one, within its chunk's length."""
        predicted = self._model.predict_lengths(memory)
        if predicted is None:
            lengths = [self._lengths] * len(chunks)
        else:
            lengths = [self._around(length) for length in predicted.tolist()]
        return [_clip(bounds, len(chunk.ids)) for bounds, chunk in zip(lengths, chunks, strict=True)]

    def _around(self, predicted: float) -> Lengths:
        """Bounds around a predicted length in tokens with EOS, within the lengths that the settings fix."""
        config, (least, most, _) = self._config, self._lengths
        minimum = min(round(_MIN_OF_PREDICTED * predicted), most) if config.min_length == "auto" else least
        maximum = max(minimum, min(round(_MAX_OF_PREDICTED * predicted), most)) if config.max_length == "auto" else most
        likely = max(minimum, min(round(predicted), maximum)) if config.max_length == "auto" else None
        return Lengths(minimum, maximum, likely)


def _clip(lengths: Lengths, longest: int) -> Lengths:
    minimum, maximum, likely = lengths
    return Lengths(min(minimum, longest), min(maximum, longest), None if likely is None else min(likely, longest))
