"""The way from a document to its summary, one for all callers; ARCHITECTURE.md draws it.

Everything up to the neural model imports neither torch nor nltk, and the model is loaded for the first document that
needs it, so that `summarize --fast` takes about as long as starting Python.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, final

from sumpool.core.decoding.config import DecodingConfig, LengthTarget, parse_length
from sumpool.documents.document import Document
from sumpool.errors import RecipeError
from sumpool.inference.extraction import Extraction, Reading, extract, read_document, whole_text, with_cause
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary, SummarySentence
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.ranking.selection import usual_words
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.language import separator, word_count
from sumpool.text.sentences import SentenceSplitter

if TYPE_CHECKING:
    from sumpool.inference.generation import Generated
    from sumpool.inference.loading import LoadedModel
    from sumpool.inference.model_summaries import ModelSummaries

EvidenceKind = Literal["sources", "page"]
"""Evidence of summaries: the sources of each sentence, or all that an HTML page shows."""
_LOOKAHEAD_BATCHES = 8
"""Batches of tokens that are read ahead, so that documents of similar length meet."""
_FIRST_DOCUMENTS: Final = 4
"""Documents that are read before the first of them is summarised by the model."""
_MAX_DOCUMENTS: Final = 256
"""Documents that are read at most before the next of them is summarised."""


@final
@dataclass(eq=False)
class Pipeline:
    """Summarises documents by the settings of a run; `open` and `of` are the usual constructors.

    Attributes:
        config: The settings.
        splitter: Sentence splitter of the language that the model has learnt.
        language: That language (ISO 639-1).
        selector: Selects the sentences of extractive summaries.
        load: Returns the model; called for the first document that needs it, and for evidence of generated text.
    """

    config: DecodingConfig
    splitter: SentenceSplitter
    language: str
    selector: SentenceSelector
    load: "Callable[[], LoadedModel]"

    @classmethod
    def open(cls, run: RunFiles) -> "Pipeline":
        """Load what summaries need besides the model of a run.

        Raises:
            CheckpointError: If a file is missing or damaged.
        """

        @cache
        def load() -> "LoadedModel":
            # Imported here, as not all summaries need torch.
            from sumpool.inference.loading import load_run

            return load_run(run)

        language = run.language()
        return cls(run.config, SentenceSplitter(language), language, run.selector, load)

    @classmethod
    def of(cls, loaded: "LoadedModel") -> "Pipeline":
        """Use a loaded model."""
        return cls(loaded.recipe.summarize, loaded.splitter, loaded.language, loaded.selector, lambda: loaded)

    def summarize(
        self,
        documents: Iterable[Document],
        *,
        evidence: EvidenceKind | None = None,
        lookahead: int | None = None,
        report: Report = no_op,
        check: Check = no_op,
        model_lock: AbstractContextManager[object] | None = None,
    ) -> Iterator[Summary]:
        """Summarise documents.

        Args:
            documents: The documents; ids may repeat.
            evidence: Evidence that summaries have; None for none.
            lookahead: Documents that are read at most before the next of them is summarised; None takes some hundred.
            report: Called with progress, and with a note for every document that is not read to its end, and for every
                summary that is not what the settings ask for.
            check: Called between batches, and between documents that need no model.
            model_lock: Held while the model computes, for models that several threads use.

        Yields:
            Summaries in the order of the documents, while later ones wait.
        """
        total = len(documents) if isinstance(documents, Sized) else None
        lock = model_lock or nullcontext()
        done = 0
        for group in self._groups(documents, lookahead or _MAX_DOCUMENTS):
            for reading in group:
                read = reading.input
                for note in filter(None, (read.note, reading.mismatch) if read and read.item else ()):
                    report(Progress("summarize", done, total, note=f"{reading.document.id}: {note}"))
            if any(reading.input for reading in group):
                results = self._model.generate(group, check, lock)
            else:
                check()
                results = ((reading, None, 0.0) for reading in group)
            for reading, generated, seconds in results:
                summary = self._summary(reading, generated, seconds)
                if evidence and summary.text:
                    # Imported here, as few ask for evidence.
                    from sumpool.inference.evidence import with_evidence

                    with lock:
                        summary = with_evidence(summary, reading, self.load, for_page=evidence == "page")
                if summary.text and (self.config.key_points or self.config.sections):
                    # Imported here, as few ask for more than a summary.
                    from sumpool.inference.evidence import with_overview

                    summary = with_overview(summary, reading, self.selector, self.config)
                    if summary.sections == ():
                        note = f"{summary.id}: no headings, so no summaries of sections"
                        report(Progress("summarize", done, total, note=note))
                done += 1
                report(Progress("summarize", done, total))
                yield summary

    def read(self, document: Document) -> Reading:
        """Read a document: its sentences, and what the model reads where it may change the summary."""
        start = time.perf_counter()
        reading = read_document(document, self.splitter, self.language, self.selector, self.config.focus)
        if not reading.reason:
            length, words = parse_length(self.config.length), word_count(document.text)
            if length != (1, "usual"):
                is_of_model = length.unit == "usual" and not self.config.fast
                usual = self._model.usual_words if is_of_model else usual_words(words)
                target = LengthTarget(length.resolve(words, usual), length.unit == "sentences")
                reading = replace(reading, target=target)
            if self._needs_model(reading):
                reading = self._model.encode(reading)
        return replace(reading, seconds=time.perf_counter() - start)

    def _needs_model(self, reading: Reading) -> bool:
        """Return whether the model may change the summary of a document.

        Samples change a choice for the better where the model has learnt such documents: of its kind, and in its
        language.
        """
        if self.config.fast or self.config.focus or reading.document.parts:
            return False
        if self.config.mode == "abstractive":
            return True
        if reading.mismatch or whole_text(reading.sentences, reading.target):
            return False
        return self.selector.is_in_domain(reading.candidates())

    def _summary(self, reading: Reading, generated: "Generated | None", seconds: float) -> Summary:
        """Select the sentences of a summary, or take the generated text."""
        start = time.perf_counter()
        text, score, extraction, reason = "", None, Extraction(), reading.reason
        if generated:
            text, score, extraction = self._model.choose(reading, generated)
            score = score if text else None
            reason = "" if text or extraction.selected else "the model must generate a word, but it generated none"
        elif not reason:
            extraction = extract(reading.candidates(), self.selector, reading.target)
            if not self.config.fast:
                extraction = with_cause(extraction, reading.mismatch)
        source, selected = reading.sentences, extraction.selected
        if selected:  # of several documents a paragraph for each, with its name
            sentences = [SummarySentence(shown, (source[at].start, source[at].end), at) for at, shown in selected]
            between, paragraphs = separator(reading.language), []
            for name, group in groupby(selected, key=lambda pair: source[pair[0]].document):
                paragraphs.append(between.join(shown for _, shown in group) + (f" [{name}]" if name else ""))
            text = "\n\n".join(paragraphs)
        else:
            sentences = [SummarySentence(" ".join(part.split())) for part in self.splitter.split(text)]
        return Summary(
            id=reading.document.id,
            text=text,
            score=score,
            tokens_read=reading.input.tokens_read if reading.input else 0,
            tokens_total=reading.input.tokens_total if reading.input else 0,
            seconds=reading.seconds + seconds + time.perf_counter() - start,
            reason=reason,
            mode="extractive" if selected else "abstractive",
            title=reading.document.title,
            language=reading.language,
            notes=reading.notes,
            cause=extraction.cause,
            sentences=tuple(sentences),
            source=source,
        )

    @cached_property
    def _model(self) -> "ModelSummaries":
        try:
            # Imported here, as not all summaries need torch.
            from sumpool.inference.model_summaries import ModelSummaries
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise RecipeError(
                "this summary needs the model, and PyTorch, which is not installed: pip install 'sumpool[torch]'; "
                "or leave the model out: --fast"
            ) from error
        return ModelSummaries(self.load(), self.selector)

    def _groups(self, documents: Iterable[Document], most: int) -> Iterator[list[Reading]]:
        """Read documents in groups whose inputs are batched together, so that memory is bounded on any stream.

        A document that needs no model waits for none behind it. The first group is small, so that its summaries do not
        wait for many documents; each has twice as many as the one before it, as larger batches are faster.
        """
        group: list[Reading] = []
        tokens, limit, most_tokens = 0, min(_FIRST_DOCUMENTS, most), _LOOKAHEAD_BATCHES * self.config.batch_tokens
        for document in documents:
            reading = self.read(document)
            if not group and not reading.input:
                yield [reading]
                continue
            group.append(reading)
            tokens += reading.input.tokens_read if reading.input else 0
            if tokens >= most_tokens or len(group) == limit:
                yield group
                group, tokens, limit = [], 0, min(2 * limit, most)
        if group:
            yield group
