"""Summaries without the neural model: sentences selected by a ranker, from the files of a run folder that it needs.

Loading imports neither torch nor nltk and reads the section `summarize` of the recipe alone, so that one document takes
about as long as starting Python. Only English and languages whose splitter the package ships are split into sentences.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from sumpool.core.decoding.config import DecodingConfig, parse_length
from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.errors import CheckpointError, RecipeError, SumpoolError
from sumpool.inference.extraction import SentenceExtractor
from sumpool.inference.model_choice import task_of
from sumpool.inference.summary import Extraction, Summary
from sumpool.io.bounded import read_json, read_regular
from sumpool.io.manifest import Manifest
from sumpool.progress import Check, Progress, Report, go_on, silent
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.summary_length import usual_words
from sumpool.recipe.yaml_text import parse
from sumpool.text.language import ENGLISH, UNSPACED, detect_language, word_count
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.config import MODEL

RECIPE: Final = "recipe.yaml"
REPORT: Final = "report.json"
_SECTION = "summarize."
Generate = Callable[[Iterator[Document], Report], Iterator[Summary]]
"""Loads the model and generates the summaries of documents."""


@dataclass(frozen=True)
class FastModel:
    """Parts of a run folder that summaries without the neural model need.

    Attributes:
        config: Settings.
        extractor: Extracts the summaries.
        language: Language of the training documents (ISO 639-1).
    """

    config: DecodingConfig
    extractor: SentenceExtractor
    language: str = ENGLISH


def wants_fast(folder: Path, overrides: Sequence[str]) -> bool:
    """Return whether the settings of a run folder ask for summaries without the neural model; damaged ones do not."""
    for assignment in reversed(overrides):
        name, _, value = assignment.partition("=")
        if name.strip() == f"{_SECTION}fast":
            return value.strip().lower() == "true"
    try:
        return _section(folder).get("fast") is True
    except (OSError, ValueError):
        return False


def load_settings(folder: Path, overrides: Sequence[str]) -> DecodingConfig:
    """Read the section `summarize` of a run folder's recipe.

    Args:
        folder: The run folder.
        overrides: Settings to change, each like `summarize.length=100w`; those of other sections are refused.

    Raises:
        CheckpointError: If the folder has no recipe, or one with wrong settings.
        RecipeError: If a setting is wrong, or the mode is abstractive.
    """
    path = folder / RECIPE
    try:
        section = _section(folder)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} must be the recipe of a run, got: {error}") from error
    for assignment in overrides:
        name, _, value = assignment.partition("=")
        if not name.strip().startswith(_SECTION):
            raise RecipeError(f"--set must change a setting of summarize for fast summaries, got {assignment!r}")
        try:
            section[name.strip().removeprefix(_SECTION)] = parse(value)
        except ValueError as error:
            raise RecipeError(f"--set {name}: {error}") from error
    try:
        config = DecodingConfig.model_validate(section)
    except ValidationError as error:
        # Imported here, as settings are seldom wrong.
        from sumpool.recipe.problems import error_messages

        problems = "; ".join(f"{_SECTION}{message}" for message in error_messages(error, DecodingConfig))
        if not overrides:
            raise CheckpointError(f"{path} must be a recipe of this version of sumpool, got: {problems}") from error
        raise RecipeError(problems) from error
    if config.mode == "abstractive" and any(change.startswith(f"{_SECTION}mode") for change in overrides):
        raise RecipeError("summarize.mode must be extractive or auto for fast summaries, got 'abstractive'")
    return config


def load_fast(folder: Path, overrides: Sequence[str] = ()) -> FastModel:
    """Load settings and ranker of a run folder.

    Raises:
        CheckpointError: If a file is missing or damaged.
        RecipeError: If a setting is wrong.
    """
    Manifest.read(folder).verify_present(folder, (RECIPE, REPORT, RANKER))
    config = load_settings(folder, overrides)
    return fast_model(config, folder, _language(folder))


def fast_model(config: DecodingConfig, folder: Path, language: str) -> FastModel:
    """Return the parts of a run folder that is loaded already.

    Raises:
        CheckpointError: If the ranker is damaged or of another version.
    """
    return FastModel(config, SentenceExtractor.load(folder, language, config.scorer), language)


def generate_fast(
    documents: Iterable[Document], model: FastModel, *, report: Report = silent, check: Check = go_on
) -> Iterator[Summary]:
    """Summarise documents one by one.

    Args:
        documents: The documents; ids may repeat.
        model: The model.
        report: Called with progress.
        check: Called between documents.

    Yields:
        Summaries in the order of the documents.
    """
    total = len(documents) if isinstance(documents, Sized) else None
    for done, document in enumerate(documents, 1):
        check()
        yield summarize_fast(document, model)
        report(Progress("summarize", done, total))


def summarize_fast(document: Document, model: FastModel) -> Summary:
    """Summarise a document."""
    start = time.perf_counter()
    if document.error or not document.text.strip():
        reason = document.error or "the document must hold text, got none"
        return Summary(document.id, "", None, 0, 0, time.perf_counter() - start, reason)
    language, sentences = _split(document, model)
    target = target_of(model.config.length, document.text)
    extraction = model.extractor.extract(document, sentences, language, target)
    return _extractive_summary(document, language, sentences, extraction, start)


def load_for_settled(folder: Path) -> FastModel | None:
    """Load what `summarize_settled` needs; None if the neural model may change all summaries, or if it is damaged."""
    if not _has_model(folder):
        return None
    try:
        model = load_fast(folder)
    except SumpoolError:
        return None
    is_usual = model.config.mode != "abstractive" and parse_length(model.config.length) == (1, "usual")
    return model if is_usual else None


def saved_settings(folder: Path) -> DecodingConfig | None:
    """Return the settings in a run folder; None without a model, or if it is damaged, which loading it tells."""
    if not _has_model(folder):
        return None
    try:
        Manifest.read(folder).verify(folder, [RECIPE])
        return load_settings(folder, ())
    except SumpoolError:
        return None


def _has_model(folder: Path) -> bool:
    return task_of(folder) == "summarization" and (folder / MODEL).is_file()


def summarize_settled(document: Document, model: FastModel) -> Summary | None:
    """Summarise a document if the neural model cannot improve its summary, otherwise return None."""
    start = time.perf_counter()
    if document.error or not document.text.strip():
        return summarize_fast(document, model)
    language, sentences = _split(document, model)
    extraction = model.extractor.extract_without_model(document, sentences, language)
    return _extractive_summary(document, language, sentences, extraction, start) if extraction else None


def generate_lazily(
    documents: Iterator[Document], model: FastModel, generate: Generate, *, report: Report, check: Check
) -> Iterator[Summary]:
    """Summarise documents; the neural model is loaded, which takes seconds, for the first that it may improve.

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
        summary = summarize_settled(document, model)
        if not summary:
            yield from generate(chain([document], documents), partial(_report_after, report, done))
            return
        if summary.extraction_note:
            report(Progress("summarize", done, note=summary.extraction_note))
        report(Progress("summarize", done + 1))
        yield summary


def _report_after(report: Report, done: int, progress: Progress) -> None:
    report(replace(progress, done=progress.done + done))


def _split(document: Document, model: FastModel) -> tuple[str, tuple[SourceSentence, ...]]:
    """Return the language of a document and its sentences."""
    language = detect_language(document.text)
    return language, source_sentences(document, SentenceSplitter.for_language(language or model.language))


def _extractive_summary(
    document: Document, language: str, sentences: tuple[SourceSentence, ...], extraction: Extraction, start: float
) -> Summary:
    """Return the summary of a document whose extraction began at a time of `time.perf_counter`."""
    text = ("" if language in UNSPACED else " ").join(extraction.sentences)
    return Summary(
        id=document.id,
        summary=text,
        score=None,
        tokens_read=0,
        tokens_total=0,
        seconds=time.perf_counter() - start,
        reason="" if text else "the document must hold text, got none",
        mode="extractive",
        language=language,
        sentences=extraction.sentences,
        extraction=extraction,
        source=sentences,
    )


def target_of(length: str, text: str) -> LengthTarget | None:
    """Return the length that a setting asks for; None for the usual one."""
    parsed = parse_length(length)
    if parsed == (1, "usual"):
        return None
    words = word_count(text)
    return LengthTarget(parsed.resolve(words, usual_words(words)), parsed.unit == "sentences", 0)


def _language(folder: Path) -> str:
    """Return the language in the data report of a run folder; English without a report, as for imported models."""
    path = folder / REPORT
    language = read_json(path, CheckpointError, "train again").get("language") if path.is_file() else None
    return language if isinstance(language, str) else ENGLISH


def _section(folder: Path) -> dict[str, Any]:
    """Parse the recipe of a run folder and return its section `summarize`."""
    tree = parse(read_regular(folder / RECIPE).decode("utf-8"))
    section = tree.get("summarize") if isinstance(tree, dict) else None
    return dict(section) if isinstance(section, dict) else {}
