"""Summaries by a model: what it reads of documents, and its text, or sentences selected with its samples."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final, final

from sumpool.core.decoding.beam import is_host
from sumpool.core.nn.quantization import Int8Linear
from sumpool.data.batches import fill_batches
from sumpool.data.shards import Item
from sumpool.inference.extraction import Extraction, Reading, extract, with_cause
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import LoadedModel
from sumpool.inference.summary import NO_TEXT
from sumpool.progress import Check
from sumpool.ranking.content_selection import best_sentences, encode_source
from sumpool.ranking.sentence_selector import SentenceSelector

_MIN_WORDS, _MAX_WORDS = 60, 100
"""Words of a summary of sentences in place of a generated text that is shorter or longer."""
_MAX_BATCH: Final = 64
"""Documents of a batch at most: more gain no speed and delay the first result."""
_TOKENS_PER_WORD: Final = 1.3
"""Tokens per word of models without a data report, such as imported ones."""


@dataclass(frozen=True)
class ModelInput:
    """What a model reads of a document.

    Attributes:
        item: Tokens, at most as many as the model reads; None if it cannot read the document.
        tokens_total: Tokens of the document.
        indices: The index of the `SourceSentence` of each sentence number of the item.
        is_selection: Whether the item holds the best sentences of a document that the ranker has read to its end.
    """

    item: Item | None
    tokens_total: int
    indices: tuple[int, ...] = ()
    is_selection: bool = False

    @property
    def tokens_read(self) -> int:
        """Tokens that the model reads."""
        return len(self.item.ids) if self.item else 0

    @property
    def note(self) -> str:
        """Note on what is read of a document that is longer than the input; empty if the ranker has read all."""
        read, whole = self.tokens_read, self.tokens_total
        if not 0 < read < whole or self.is_selection:
            return ""
        return f"read {read:,} of {whole:,} tokens ({read / whole:.0%})"


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
        self._most = 1 if is_host(loaded.device) and not is_exact else _MAX_BATCH
        self._tokens_per_word = _TOKENS_PER_WORD
        if loaded.report and (words := loaded.report.splits["train"].summary_words.mean):
            self._tokens_per_word = loaded.report.splits["train"].summary_tokens.mean / words
        minimum, maximum, expected = loaded.lengths
        self.usual_words = (expected or (minimum + maximum) / 2) / self._tokens_per_word

    def encode(self, reading: Reading) -> Reading:
        """Return what has been read of a document with what the model reads of it, or the reason why it cannot.

        A document that is too long is cut by `summarize.on_overflow`.
        """
        tokenizer, longest = self._loaded.tokenizer, self._loaded.recipe.model.source_length
        special_tokens, on_overflow = tokenizer.special_tokens, self._config.on_overflow
        source, indices = encode_source(reading.document, reading.sentences, tokenizer, self._loaded.splitter)
        part = source.with_special_tokens(special_tokens)
        total = len(part.ids)
        if not total:
            return replace(reading, input=ModelInput(None, 0), reason=NO_TEXT)
        if total > longest and on_overflow == "error":
            reason = f"the document must have at most {longest:,} tokens, got {total:,}; take select for what is longer"
            return replace(reading, input=ModelInput(None, total), reason=reason)
        selected: list[int] = []
        if total > longest and on_overflow == "select":
            candidates = reading.candidates()
            scores = dict(zip(candidates.indices, candidates.scores.tolist(), strict=True))
            selected, best = best_sentences(source, indices, scores, longest, special_tokens)
        if selected:  # in the order of the document
            part, indices = best, tuple(indices[number] for number in selected)
        elif total > longest:
            part = part.truncate(longest, special_tokens)
        item = Item(reading.document.id, part.ids, part.sentences, None)
        read = ModelInput(item, total, indices[: int(part.sentences[-1]) + 1], is_selection=bool(selected))
        target = reading.target and replace(reading.target, tokens=round(reading.target.words * self._tokens_per_word))
        return replace(reading, input=read, target=target)

    def generate(
        self, group: Sequence[Reading], check: Check, lock: AbstractContextManager[object]
    ) -> Iterator[tuple[Reading, Generated | None, float]]:
        """Generate batch by batch; a document is yielded as soon as all before it are done.

        Args:
            group: Documents; those without an input are passed through.
            check: Called between batches.
            lock: Held while the model computes.

        Yields:
            A document, what was generated for it, and its share of the seconds.
        """
        read = [(reading, reading.input.item) for reading in group if reading.input and reading.input.item]
        # Inputs of similar length meet within the budget of tokens; the batch with the earliest one comes first.
        lengths = [len(item.ids) for _, item in read]
        shortest_first = sorted(range(len(read)), key=lengths.__getitem__)
        batches = iter(sorted(fill_batches(shortest_first, lengths, self._config.batch_tokens, self._most), key=min))
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
        from sumpool.inference.summary_choice import UNFOUNDED, SummaryChooser

        text, extraction, cause = SummaryChooser(self._config, self._loaded.splitter, reading).choose(generated)
        if cause:
            extraction = with_cause(self._extract(reading, generated.samples or (text,)), cause)
        return "" if cause == UNFOUNDED else text, generated.score, extraction

    def _extract(self, reading: Reading, samples: Sequence[str]) -> Extraction:
        """Select sentences with the help of the sampled summaries, or of the generated one."""
        sizes = sorted(len(text.split()) for text in samples)
        words = max(_MIN_WORDS, min(sizes[len(sizes) // 2], _MAX_WORDS))
        return extract(reading.candidates(), self._selector, reading.target, words=words, samples=samples)
