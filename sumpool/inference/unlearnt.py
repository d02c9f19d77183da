"""Summaries that a neural model cannot change, without loading it: importing torch takes a second or two.

The model has not learnt the language or kind of the text, or the text is not longer than a summary.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from sumpool.core.decoding.config import DecodingConfig, parse_length
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import SumpoolError
from sumpool.inference.extraction import WHOLE_WORDS
from sumpool.inference.fast_summaries import (
    RECIPE,
    FastModel,
    extractive_summary,
    load_fast,
    load_settings,
    summarize_fast,
)
from sumpool.inference.model_choice import task_of
from sumpool.inference.summary import Summary, join_causes
from sumpool.io.manifest import Manifest
from sumpool.progress import Check, Progress, Report
from sumpool.text.language import detect_language, unlearnt_cause, word_count
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.config import MODEL

Generate = Callable[[Iterator[Document], Report], Iterator[Summary]]
"""Loads the model and generates the summaries of documents."""


def saved_settings(folder: Path) -> DecodingConfig | None:
    """Return the settings in a run folder; None without a model, or if it is damaged, which loading it tells."""
    if not _has_model(folder):
        return None
    try:
        Manifest.read(folder).verify(folder, [RECIPE])
        return load_settings(folder, ())
    except SumpoolError:
        return None


def load_for_unlearnt(folder: Path) -> FastModel | None:
    """Load what `summarize_unlearnt` needs; None if the neural model may change all summaries, or if it is damaged."""
    if not _has_model(folder):
        return None
    try:
        model = load_fast(folder)
    except SumpoolError:
        return None
    is_usual = model.config.mode != "abstractive" and parse_length(model.config.length) == (1, "usual")
    return model if is_usual and model.extractor.has_ranker else None


def _has_model(folder: Path) -> bool:
    return task_of(folder) == "summarization" and (folder / MODEL).is_file()


def summarize_unlearnt(document: Document, model: FastModel) -> Summary | None:
    """Summarise a document if the neural model cannot change its summary, otherwise return None."""
    start = time.perf_counter()
    text = document.text
    if document.error or not text.strip():
        return summarize_fast(document, model)
    language = detect_language(text)
    cause = unlearnt_cause(text, language, model.language)
    if not cause and word_count(text) > WHOLE_WORDS:
        return None
    sentences = source_sentences(document, SentenceSplitter.for_language(language) if cause else model.splitter)
    extraction = model.extractor.extract(document, sentences, language)
    if not extraction.sentences or not (cause or extraction.cause):
        return None
    extraction = replace(extraction, cause=join_causes(cause, extraction.cause))
    return extractive_summary(document, language, sentences, extraction, start)


def generate_lazily(
    documents: Iterator[Document], model: FastModel, generate: Generate, *, report: Report, check: Check
) -> Iterator[Summary]:
    """Summarise documents; the neural model is loaded for the first that needs it.

    Args:
        documents: The documents.
        model: What summarises the documents before that one.
        generate: Generates the summaries of that one and all after it.
        report: Called with progress, and with a note for every summary.
        check: Called between documents.

    Yields:
        Summaries in the order of the documents.
    """
    for done, document in enumerate(documents):
        check()
        summary = summarize_unlearnt(document, model)
        if not summary:
            yield from generate(chain([document], documents), partial(_report_after, report, done))
            return
        if summary.extraction_note:
            report(Progress("summarize", done, note=summary.extraction_note))
        report(Progress("summarize", done + 1))
        yield summary


def _report_after(report: Report, done: int, progress: Progress) -> None:
    report(replace(progress, done=progress.done + done))
