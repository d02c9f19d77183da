"""A document on its way to its summary: language, sentences with structure, and features once needed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from sumpool.core.decoding.ranking import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.inference.summary import NO_TEXT
from sumpool.ranking.sentence_selector import Candidates, SentenceSelector
from sumpool.text.language import UNDETECTED, detect_language, language_mismatch
from sumpool.text.sentences import SentenceSplitter

if TYPE_CHECKING:
    from sumpool.inference.model_input import ModelInput


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
    target: LengthTarget | None = None
    input: "ModelInput | None" = None
    seconds: float = 0.0


def read_document(document: Document, splitter: SentenceSplitter, learnt: str, selector: SentenceSelector) -> Reading:
    """Split a document into its sentences.

    Args:
        document: The document.
        splitter: Sentence splitter of the language that the model has learnt.
        learnt: That language (ISO 639-1).
        selector: Computes features and scores once they are needed.
    """
    reason = document.error or ("" if document.text.strip() else NO_TEXT)
    language, mismatch = UNDETECTED, ""
    sentences: tuple[SourceSentence, ...] = ()
    if not reason:
        language = detect_language(document.text)
        mismatch = language_mismatch(language, learnt)
        sentences = source_sentences(document, SentenceSplitter(language) if mismatch else splitter)
        reason = "" if sentences else NO_TEXT
    candidates = cache(partial(selector.candidates, document, sentences, language))
    return Reading(document, candidates, reason, language, mismatch, sentences)
