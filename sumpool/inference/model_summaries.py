"""Summaries by a model: its generated text, or sentences of the document that are selected with its samples."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, final

from sumpool.core.decoding.beam import is_host
from sumpool.core.nn.quantization import Int8Linear
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.inference.extraction import Reading, extract, with_cause
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import LoadedModel, mean_words, tokens_per_word
from sumpool.inference.model_input import MAX_BATCH, batch_inputs, read_input
from sumpool.inference.summary import Extraction
from sumpool.progress import Check
from sumpool.ranking.sentence_selector import SentenceSelector

if TYPE_CHECKING:
    from sumpool.inference.summary_choice import SummaryChooser

_MIN_WORDS, _MAX_WORDS = 60, 100
"""Words of a summary of sentences in place of a generated text that is shorter or longer."""


@final
class ModelSummaries:
    """Summaries by a model: extracted with its samples, or generated.

    Attributes:
        usual_words: Words of the training summaries, about.
    """

    def __init__(self, loaded: LoadedModel, selector: SentenceSelector) -> None:
        """Prepare by the settings of a model, and the selector of sentences."""
        config = loaded.recipe.summarize
        self._config = config
        self._loaded = loaded
        self._selector = selector
        self._generator = Generator(loaded.model, loaded.tokenizer, config, loaded.lengths)
        # On a CPU floating-point products round by the number of rows, and a last bit may decide which token is
        # sampled; integer products are exact.
        is_exact = any(isinstance(layer, Int8Linear) for layer in loaded.model.decoder.modules())
        self._most = 1 if is_host(loaded.device) and not is_exact else MAX_BATCH
        self._tokens_per_word = tokens_per_word(loaded)
        self.usual_words = mean_words(loaded)

    def encode(self, reading: Reading) -> Reading:
        """Return what has been read of a document with what the model reads of it, or the reason why it cannot."""

        def scores() -> dict[int, float]:
            candidates = reading.candidates()
            return dict(zip(candidates.indices, candidates.scores.tolist(), strict=True))

        read = read_input(self._loaded, reading.document, reading.sentences, scores)
        target = reading.target and replace(reading.target, tokens=round(reading.target.words * self._tokens_per_word))
        return replace(reading, input=read, reason=read.reason, target=target)

    def generate(
        self,
        group: Sequence[Reading],
        check: Check,
        lock: AbstractContextManager[object],
        on_draft: Callable[[Document, str], None] | None,
    ) -> Iterator[tuple[Reading, Generated | None, float]]:
        """Generate batch by batch; a document is yielded as soon as all before it are done.

        Args:
            group: Documents; those without an input are passed through.
            check: Called between batches.
            lock: Held while the model computes.
            on_draft: See `Pipeline.summarize`.

        Yields:
            A document, what was generated for it, and its share of the seconds.
        """
        read = [(reading, reading.input.item) for reading in group if reading.input and reading.input.item]
        documents = {id(item): reading.document for reading, item in read}

        def on_drafts(items: Sequence[Item], texts: list[str]) -> None:
            assert on_draft, "otherwise this is not passed on"
            for item, text in zip(items, texts, strict=True):
                on_draft(documents[id(item)], text)

        batches = iter(batch_inputs([len(item.ids) for _, item in read], self._config.batch_tokens, self._most))
        generated: dict[int, tuple[Generated, float]] = {}
        number = 0
        for reading in group:
            if not (reading.input and reading.input.item):
                yield reading, None, 0.0
                continue
            while number not in generated:
                check()
                batch = next(batches)
                with lock:
                    start = time.perf_counter()
                    results = self._generator.generate(
                        [read[index][1] for index in batch],
                        [read[index][0].target for index in batch],
                        on_drafts if on_draft else None,
                    )
                    seconds = (time.perf_counter() - start) / len(batch)
                generated.update((index, (result, seconds)) for index, result in zip(batch, results, strict=True))
            yield reading, *generated.pop(number)
            number += 1

    def choose(self, reading: Reading, generated: Generated) -> tuple[str, float | None, Extraction]:
        """Choose the summary of a document.

        Returns:
            The generated text, the score of the best hypothesis, and the sentences that replace the text, if any.
        """
        if self._config.mode == "extractive":
            return "", None, self._extract(reading, generated.samples)
        # Imported here, as extractive summaries need no check of a text.
        from sumpool.inference.summary_choice import UNFOUNDED

        text, extraction, cause = self._chooser.choose(generated, reading)
        if cause:
            extraction = with_cause(self._extract(reading, generated.samples or (text,)), cause)
        return "" if cause == UNFOUNDED else text, generated.score, extraction

    @cached_property
    def _chooser(self) -> "SummaryChooser":
        from sumpool.inference.summary_choice import SummaryChooser

        return SummaryChooser(self._config, self._loaded.splitter)

    def _extract(self, reading: Reading, samples: Sequence[str]) -> Extraction:
        """Select sentences with the help of the sampled summaries, or of the generated one."""
        sizes = sorted(len(text.split()) for text in samples)
        words = max(_MIN_WORDS, min(sizes[len(sizes) // 2], _MAX_WORDS))
        return extract(reading.candidates(), self._selector, reading.target, words=words, samples=samples)
