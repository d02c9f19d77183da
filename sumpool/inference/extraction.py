"""Extractive summaries: whole sentences of a document, or all of a short one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.summary import Extraction, join_causes
from sumpool.ranking.sentence_selector import SampledSummaries, SentenceSelector
from sumpool.ranking.summary_length import usual_words
from sumpool.text.language import ENGLISH, unlearnt_cause, word_count
from sumpool.text.prose import PROSE_KINDS

_WHOLE = 1.25
"""Words of a document that is its own summary, relative to the words of a summary."""
_WHOLE_WORDS = round(_WHOLE * usual_words(1))
"""Words of a document that is its own summary whatever a model says: the shortest summaries in place of generated text
have as many words as the usual ones of a page."""


@final
class SentenceExtractor:
    """Extracts summaries.

    Attributes:
        selector: Selects the sentences.
    """

    def __init__(self, selector: SentenceSelector, language: str = ENGLISH) -> None:
        self.selector = selector
        self._language = language

    @classmethod
    def load(cls, folder: Path, language: str = ENGLISH, scorer: Path | None = None) -> "SentenceExtractor":
        """Load the ranker of a run folder; the shipped one serves where it has none.

        Args:
            folder: The run folder.
            language: Language that its model has learnt.
            scorer: File of a language model that reads the sentences, see `SentenceStates`; None without.

        Raises:
            CheckpointError: If the ranker is damaged or of another version.
            DataError: If the scorer is damaged, or another model.
        """
        return cls(SentenceSelector.load(folder, SHIPPED, scorer), language)

    def extract_without_model(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        language: str,
        target: LengthTarget | None = None,
    ) -> Extraction | None:
        """Select sentences of a document whose summary the model cannot improve; None if it may.

        Samples of a model change a choice for the better where it has learnt such documents: of its kind, and in its
        language.

        Args:
            document: The document.
            sentences: Its sentences.
            language: Code of its language.
            target: Length of the summary; None takes the usual one.
        """
        cause = unlearnt_cause(document.text, language, self._language)
        is_whole = not target and self.whole_text(sentences, _WHOLE_WORDS) is not None
        if not cause and not is_whole and self.selector.is_in_domain(document, sentences, language):
            return None
        extraction = self.extract(document, sentences, language, target)
        return replace(extraction, cause=join_causes(cause, extraction.cause))

    def extract(
        self,
        document: Document,
        sentences: Sequence[SourceSentence],
        language: str,
        target: LengthTarget | None = None,
        *,
        words: int | None = None,
        sampled: SampledSummaries | None = None,
    ) -> Extraction:
        """Select sentences of a document for a summary.

        Args:
            document: The document.
            sentences: Its sentences, see `source_sentences`.
            language: Code of its language.
            target: Length of the summary; None takes `words`.
            words: Words of the summary, see `SentenceSelector.select`.
            sampled: Summaries sampled from a model; None if there are none.

        Returns:
            The sentences, all of them if a summary would not be shorter; the cause tells how far they miss the target.
        """
        longest = round(_WHOLE * (words or usual_words(word_count(document.text))))
        whole = None if target else self.whole_text(sentences, longest)
        if whole:
            return whole
        selected = self.selector.select(document, sentences, language, words=words, sampled=sampled, target=target)
        extraction = extraction_of(selected)
        return with_fault(extraction, target) if target else extraction

    @staticmethod
    def whole_text(sentences: Sequence[SourceSentence], words: int) -> Extraction | None:
        """Return all prose of a document that has at most so many words; None if it has more, or none."""
        prose = [(index, sentence.text) for index, sentence in enumerate(sentences) if sentence.kind in PROSE_KINDS]
        if not prose or word_count(" ".join(text for _, text in prose)) > words:
            return None
        last = prose[-1][0]
        whole = [(index, text if index == last else _closed(text, sentences[index])) for index, text in prose]
        return extraction_of(whole, "the text is not longer than a summary")


def _closed(text: str, sentence: SourceSentence) -> str:
    """Return a line of prose that another follows with a full stop if it has no punctuation, as in many mails."""
    is_open = text[-1:].isalnum() and sentence.kind == "paragraph"
    return f"{text}." if is_open else text


def extraction_of(selected: Sequence[tuple[int, str]], cause: str = "") -> Extraction:
    """Return an extraction of sentences, each with its index."""
    return Extraction(tuple(text for _, text in selected), tuple(index for index, _ in selected), cause)


def with_fault(extraction: Extraction, target: LengthTarget) -> Extraction:
    """Add to the cause of an extraction how far it misses its target length."""
    fault = selection_fault(target, extraction.sentences) if extraction.sentences else ""
    return replace(extraction, cause=join_causes(extraction.cause, fault))


def selection_fault(target: LengthTarget, selected: Sequence[str]) -> str:
    """Return how far selected sentences miss a target, as in documents with little prose; empty if they meet it."""
    total = len(selected) if target.in_sentences else sum(map(word_count, selected))
    if target.minimum <= total <= target.maximum:
        return ""
    return f"asked for {target}, whole sentences of prose give {total:,}"
