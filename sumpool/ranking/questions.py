"""Answers of lists of questions: those that name what the question asks, each with its question before it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence

if TYPE_CHECKING:
    from sumpool.ranking.candidates import CandidateSentence

_NAME = re.compile(r"\bfaqs?\b|\w*faq$|frequently[- ]asked", re.IGNORECASE)
_QUESTION_MARKS = ("?", "\uff1f")
_QUESTION_LABELS = ("Q: ", "Q. ")
_LABEL = re.compile(r"^(?:(?:Q|Question) ?\d*|\d+(?:\.\d+)*)[.:)]\s*")
"""Label or number of a question."""
_MAX_QUESTION_WORDS = 30
_MIN_QUESTIONS = 4
_MIN_ANSWERS = 2
_MIN_SHARED = 2
"""Words that an answer shares with its question at least, where the question has so many."""
_STEM = 5
"""First characters of a word that a question and its answer share."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_QUESTION_WORDS = frozenset(("what", "when", "where", "which", "does", "should", "about", "there", "with", "from"))


def is_faq(document: Document, title: str) -> bool:
    """Return whether a document is a list of questions by its title, or by its questions.

    Args:
        document: The document.
        title: Its title and the name of its file.
    """
    blocks = [
        block
        for block in document.blocks
        if block.kind in ("heading", "list_item") or block.text.startswith(_QUESTION_LABELS)
    ]
    questions = sum(is_question(block.text) for block in blocks)
    headings = sum(block.kind == "heading" for block in blocks)
    return questions >= _MIN_QUESTIONS and bool(_NAME.search(title) or questions > headings / 2)


def is_question(text: str) -> bool:
    """Return whether a text is a question of a list of questions."""
    is_short = len(text.split()) <= _MAX_QUESTION_WORDS
    return is_short and (text.rstrip().endswith(_QUESTION_MARKS) or text.startswith(_QUESTION_LABELS))


def with_questions(document: Document, sentences: Sequence[SourceSentence]) -> list[SourceSentence]:
    """Return sentences with the questions as headings."""
    questions = {index for index, block in enumerate(document.blocks) if is_question(block.text)}
    return [replace(item, kind="heading") if item.block in questions else item for item in sentences]


def answers(candidates: "Sequence[CandidateSentence]", title: str) -> "list[CandidateSentence]":
    """Return the candidates that can be read without the question; all if there are few.

    Args:
        candidates: The candidates; the section of an answer is its question.
        title: Title of the document.
    """
    kept = [item for item in candidates if item.predecessor is None and _is_readable(item, title)]
    return kept if len(kept) >= _MIN_ANSWERS else list(candidates)


def with_question(candidate: "CandidateSentence") -> "CandidateSentence":
    """Return an answer with its question before it; a candidate that answers none as it is."""
    question = asked(candidate)
    return replace(candidate, text=f"{question} {candidate.text}") if question else candidate


def asked(candidate: "CandidateSentence") -> str:
    """Return the question that a candidate answers, without its label; empty if it answers none."""
    return _LABEL.sub("", candidate.section) if is_question(candidate.section) else ""


def _is_readable(candidate: "CandidateSentence", title: str) -> bool:
    if not is_question(candidate.section):
        return True
    words = _stems(candidate.text)
    return len(words & _stems(candidate.section)) >= min(_MIN_SHARED, len(_stems(candidate.section))) or (
        candidate.is_first and bool(words & _stems(title))
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(word.lower()[:_STEM] for word in _WORD.findall(text) if word.lower() not in _QUESTION_WORDS)
