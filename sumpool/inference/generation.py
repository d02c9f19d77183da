"""Passages into summaries: one batch through the encoder once, then through the beam search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final
from zlib import crc32

import numpy as np
import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import Constraint, NoRepeatTokens, NoRepeatWords, Rules, WordPieces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.decoding.sampling import sample
from sumpool.core.model.cuda_graph import GraphedDecoder
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.nn.execution import one_thread
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.errors import ResourceError, is_out_of_memory
from sumpool.text.tokenizer import Tokenizer

_SHORTEST, _LONGEST = 0.8, 1.25
"""Bounds of a summary whose length is planned, times that length."""
_NARROW, _FEW = 256, 4
"""Features of a model and passages of a batch up to which one thread writes."""


@dataclass(frozen=True)
class Generated:
    """What was written about a passage.

    Attributes:
        text: The summary.
        score: By the length formula of the settings; higher is better.
        samples: Summaries drawn from all that the model might write, where sentences are to agree with them.
    """

    text: str
    score: float
    samples: tuple[str, ...] = ()


@final
class Generator:
    """Writes with one model and one choice of settings; used after training and, to look at progress, within it."""

    def __init__(
        self, model: SummarizationModel, tokenizer: Tokenizer, config: DecodingConfig, lengths: Lengths
    ) -> None:
        """Prepare.

        Args:
            model: The model, where it is; `write` expects it in evaluation mode.
            tokenizer: Its vocabulary.
            config: How to write; of its lengths it is only read which are fixed, and its precision is the model's own.
            lengths: Shortest and longest summary, as the settings fix them or leave them to the training summaries.
        """
        self._model = model
        self._tokenizer = tokenizer
        self._config = config
        self._lengths = lengths
        self._steps = GraphedDecoder(model)
        self._is_narrow = model.config.dim <= _NARROW
        constraints: list[Constraint] = []
        if config.no_repeat_words:
            constraints.append(NoRepeatWords(config.no_repeat_words, WordPieces(tokenizer.token_bytes())))
        if config.no_repeat_tokens:
            constraints.append(NoRepeatTokens(config.no_repeat_tokens))
        self._rules = Rules(config.begin_with, constraints, model.special_tokens)

    def write(self, passages: Sequence[Item]) -> list[Generated]:
        """Summarise a batch of passages; no summary is longer than its passage.

        A batch that memory cannot hold is written in halves, which changes nothing but the time.

        Raises:
            ResourceError: If memory cannot hold a single passage.
        """
        try:
            with one_thread(self._is_narrow and len(passages) <= _FEW):
                return self._write(passages)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if len(passages) == 1:
                raise ResourceError(
                    f"memory must hold {passages[0].id}, {len(passages[0].ids):,} tokens with {self._config.beams} "
                    "beams, but it ran out; lower summarize.beams"
                ) from error
        half = len(passages) // 2  # outside the handler, whose traceback keeps the tensors of the failed try alive
        return self.write(passages[:half]) + self.write(passages[half:])

    @torch.inference_mode()
    def _write(self, passages: Sequence[Item]) -> list[Generated]:
        source_length = self._model.config.source_length
        device = self._model.embedding.weight.device
        batch = collate(
            passages, source_length, self._model.config.target_length, special_tokens=self._model.special_tokens
        ).to(device)
        memory = self._model.encode(batch.ids, batch.mask, batch.sentences)
        planned = self._model.predict_lengths(memory)
        usual = [self._lengths] * len(passages) if planned is None else list(map(self._plan, planned.tolist()))
        lengths = [_within(bounds, len(passage.ids)) for bounds, passage in zip(usual, passages, strict=True)]
        longest = max(len(self._config.begin_with), *(bounds.maximum for bounds in lengths))
        found = search(
            self._steps.step,
            self._steps.start(memory, self._config.beams, longest),
            lengths,
            self._config.ranking(),
            self._rules,
            device=device,
        )
        texts = [self._spell(best.tokens) for best, *_ in found]
        samples = self._sample(passages, memory, lengths) if self._config.mode != "abstractive" else [()] * len(found)
        return [
            Generated(text, best.score, drawn) for text, (best, *_), drawn in zip(texts, found, samples, strict=True)
        ]

    def _sample(self, passages: Sequence[Item], memory: Memory, lengths: Sequence[Lengths]) -> list[tuple[str, ...]]:
        """Draw summaries of half the shortest to twice the longest length; a passage always gives the same."""
        most = self._model.config.target_length
        wide = [Lengths(shortest // 2, min(2 * longest, most - 1)) for shortest, longest, _ in lengths]
        bounds = [_within(each, len(passage.ids)) for each, passage in zip(wide, passages, strict=True)]
        seeds = [crc32(passage.ids.tobytes()) for passage in passages]
        draws = [np.random.default_rng(seed).random((self._config.samples, most), np.float32) for seed in seeds]
        drawn = sample(
            self._steps.step,
            self._steps.start(memory, self._config.samples, most),
            bounds,
            torch.from_numpy(np.stack(draws)).to(memory.ids.device),
            self._config.temperature,
            self._rules,
        )
        return [tuple(map(self._spell, tokens)) for tokens in drawn]

    def _spell(self, tokens: Sequence[int]) -> str:
        return self._tokenizer.decode(tokens).strip()

    def _plan(self, planned: float) -> Lengths:
        """Give a summary of so many tokens, its end counted, some room, within lengths that the settings fix."""
        config, (least, most, _) = self._config, self._lengths
        minimum = min(round(_SHORTEST * planned), most) if config.min_length == "auto" else least
        maximum = max(minimum, min(round(_LONGEST * planned), most)) if config.max_length == "auto" else most
        likely = max(minimum, min(round(planned), maximum)) if config.max_length == "auto" else None
        return Lengths(minimum, maximum, likely)


def _within(lengths: Lengths, most: int) -> Lengths:
    minimum, maximum, likely = lengths
    return Lengths(min(minimum, most), min(maximum, most), None if likely is None else min(likely, most))
