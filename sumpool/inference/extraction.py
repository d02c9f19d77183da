"""A document on its way to its summary, and extractive summaries: whole sentences of it, or all of a short one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING

from sumpool.core.decoding.config import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.inference.summary import NO_TEXT
from sumpool.ranking.selection import usual_words
from sumpool.ranking.sentence_selector import Candidates, SentenceSelector
from sumpool.text.language import UNDETECTED, detect_language, language_mismatch, language_name, word_count
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.sentences import SentenceSplitter

if TYPE_CHECKING:
    from sumpool.inference.model_summaries import ModelInput

_WHOLE = 1.25
"""Words of a document that is its own summary at most, relative to the words of a summary."""
_WHOLE_WORDS = round(_WHOLE * usual_words(1))
"""The same for the shortest usual summary, that of a page; such a document needs no model."""
_BEGINNING_BLOCKS = 40
"""Blocks of a first page at most, among which another language than that of the document is searched for."""


@dataclass(frozen=True)
class Extraction:
    """Sentences selected from a document; none if the text is generated.

    Attributes:
        selected: Index among the sentences of the document, see `source_sentences`, and text with single spaces of
            each, in the order of the document.
        cause: Why sentences replace generated text, and how far they miss a target length; empty otherwise.
    """

    selected: tuple[tuple[int, str], ...] = ()
    cause: str = ""


@dataclass(frozen=True)
class Reading:
    """A document as it has been read so far.

    Attributes:
        document: The document.
        candidates: Returns its candidates, which are computed once.
        reason: Why there can be no summary; empty otherwise.
        language: Language of the document (ISO 639-1); UNDETECTED if it is not clear.
        mismatch: Why the model has not learnt such a text, see `language_mismatch`; empty if it may have.
        sentences: Its sentences.
        notes: What reading removed or guessed.
        target: Length of the summary; None if it is the usual one.
        input: What the model reads of it; None if it needs no model.
        seconds: Time for all that.
    """

    document: Document
    candidates: Callable[[], Candidates]
    reason: str = ""
    language: str = UNDETECTED
    mismatch: str = ""
    sentences: tuple[SourceSentence, ...] = ()
    notes: tuple[str, ...] = ()
    target: LengthTarget | None = None
    input: "ModelInput | None" = None
    seconds: float = 0.0


def read_document(
    document: Document, splitter: SentenceSplitter, learnt: str, selector: SentenceSelector, focus: str = ""
) -> Reading:
    """Split a document into its sentences.

    Args:
        document: The document.
        splitter: Sentence splitter of the language that the model has learnt.
        learnt: That language (ISO 639-1).
        selector: Computes features and scores once they are needed.
        focus: Topic or question by which sentences are selected; empty for none.
    """
    reason = document.error or ("" if document.text.strip() else NO_TEXT)
    language, mismatch, notes = UNDETECTED, "", document.notes
    sentences: tuple[SourceSentence, ...] = ()
    if not reason:
        language = detect_language(document.text)
        mismatch = language_mismatch(language, learnt)
        sentences = source_sentences(document, SentenceSplitter(language) if mismatch else splitter)
        sentences, note = (sentences, ()) if document.parts else _without_foreign_beginning(sentences, language)
        notes = (*notes, *note)
        reason = "" if sentences else NO_TEXT
    candidates = cache(partial(selector.candidates, document, sentences, language, focus))
    return Reading(document, candidates, reason, language, mismatch, sentences, notes)


def _without_foreign_beginning(
    sentences: tuple[SourceSentence, ...], language: str
) -> tuple[tuple[SourceSentence, ...], tuple[str, ...]]:
    """Make a beginning in another language, such as a covering letter, a notice, and return a note on it."""
    end = position = 0
    foreign = ""
    for _, block in islice(groupby(sentences, key=lambda sentence: sentence.block), _BEGINNING_BLOCKS):
        texts = [sentence.text for sentence in block]
        position += len(texts)
        if (detected := detect_language(" ".join(texts))) == language:
            break
        if detected != UNDETECTED:
            end, foreign = position, detected
    if UNDETECTED in (language, foreign):
        return sentences, ()
    words, kept = 0, list[SourceSentence]()
    for sentence in sentences[:end]:
        if sentence.kind in PROSE_KINDS:
            words += word_count(sentence.text)
            sentence = replace(sentence, kind="notice")
        kept.append(sentence)
    return (*kept, *sentences[end:]), (f"{words:,} words in {language_name(foreign)} at the beginning left out",)


def extract(
    candidates: Candidates,
    selector: SentenceSelector,
    target: LengthTarget | None = None,
    *,
    words: int | None = None,
    samples: Sequence[str] = (),
) -> Extraction:
    """Select sentences of a document for a summary.

    Args:
        candidates: Candidates of the document.
        selector: Selects among them.
        target: Length of the summary; None takes `words`.
        words: Words of the summary, see `SentenceSelector.select`.
        samples: Summaries sampled from a model.

    Returns:
        The sentences, all of them if a summary would not be shorter; the cause tells how far they miss the target.
    """
    longest = round(_WHOLE * (words or usual_words(word_count(candidates.document.text))))
    has_choice = candidates.similarity is not None or (target and candidates.document.parts)  # documents may repeat
    if not has_choice and (whole := whole_text(candidates.sentences, target, longest)):
        return whole
    selected = _with_ends(
        selector.select(candidates, words=words, samples=samples, target=target), candidates.sentences
    )
    fault = selection_fault(target, [text for _, text in selected]) if target and selected else ""
    shown = {candidates.sentences[index].document for index, _ in selected}
    lacking = ", ".join(part.id for part in candidates.document.parts if part.id not in shown)
    has_focus = candidates.similarity is None or candidates.similarity.any()
    causes = (
        "" if has_focus else "no sentence has a word of the focus",
        lacking and f"no sentence of {lacking}",
        fault,
    )
    return Extraction(selected, "; ".join(filter(None, causes)))


def whole_text(
    sentences: Sequence[SourceSentence], target: LengthTarget | None = None, words: int = _WHOLE_WORDS
) -> Extraction | None:
    """Return all prose of a document that is not longer than a target or so many words; None if it is, or none."""
    prose = [(index, sentence.text) for index, sentence in enumerate(sentences) if sentence.kind in PROSE_KINDS]
    length = len(prose) if target and target.in_sentences else word_count(" ".join(text for _, text in prose))
    if not prose or length > (target.maximum if target else words):
        return None
    cause = selection_fault(target, [text for _, text in prose]) if target else "the text is not longer than a summary"
    return Extraction(_with_ends(prose, sentences), cause)


def with_cause(extraction: Extraction, cause: str) -> Extraction:
    """Return an extraction with a cause before its own."""
    return replace(extraction, cause="; ".join(filter(None, (cause, extraction.cause))))


def selection_fault(target: LengthTarget, selected: Sequence[str]) -> str:
    """Return how far selected sentences miss a target, as in documents with little prose; empty if they meet it."""
    total = len(selected) if target.in_sentences else sum(map(word_count, selected))
    if target.minimum <= total <= target.maximum:
        return ""
    return f"asked for {target}, whole sentences of prose give {total:,}"


def _with_ends(selected: Sequence[tuple[int, str]], sentences: Sequence[SourceSentence]) -> tuple[tuple[int, str], ...]:
    """End sentences without punctuation, which would run on into what a summary has behind them.

    They get a full stop at the end of a paragraph, as in many mails, and an ellipsis behind a clause of a transcript.
    """
    ended = []
    for (index, text), following in zip_longest(selected, [index for index, _ in selected[1:]]):
        is_open = text[-1:].isalnum() and sentences[index].kind == "paragraph"
        goes_on = index + 1 < len(sentences) and sentences[index + 1].block == sentences[index].block
        if is_open and goes_on and following != index + 1:
            text += "\u2026"
        elif is_open and not goes_on and following is not None:
            text += "."
        ended.append((index, text))
    return tuple(ended)
