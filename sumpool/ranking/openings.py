"""Openings of documents: the line that names a manual page's subject, and sentences that say what the document is."""

import re

from sumpool.text.language import UNSPACED, word_count

_NAME_LINE = re.compile(r"^[\w.+:-]{1,40}(?:, ?[\w.+:-]{1,40}){0,8} (?:-|--|\u2013|\u2014) [^\W\d_].{3,}$")
_MAX_NAME_LINE_WORDS = 30
_INTRODUCES = re.compile(
    r"hier (?:werden|wird|beschreibe|finden) |(?:this|das|dies|c'est|\u044d\u0442\u043e|\u8fd9)"
    r"(?: is| are| contains| describes| provides| ist)? ?(?:an?|the|eine?|die|das|der|une?|\u662f)\b",
    re.IGNORECASE,
)
"""Start of a sentence that says what its document is ("this is a collection of programs")."""
_MAX_INTRODUCTION = 3
"""Sentences of a document that may introduce it."""
_PART = re.compile(
    r"this (?:\w+ )?(?:package|program|tool|library|module|plugin|extension|application|utility|work)\b", re.I
)
_MAX_SUBJECT = 20
"""Sentences of a document in which "this package" is its subject; further on it is one that was named before."""


def name_line(text: str, language: str) -> str:
    """Return the line "name - description" of a manual page with a full stop; empty for any other text."""
    if not _NAME_LINE.match(text) or word_count(text) > _MAX_NAME_LINE_WORDS:
        return ""
    return text if text[-1] in ".\u3002" else f"{text}{full_stop(language)}"


def introduces(text: str, place: int) -> bool:
    """Return whether one of the first sentences of a document says what the document is.

    Args:
        text: The sentence.
        place: Its index among the sentences of prose, from 1.
    """
    return place <= _MAX_INTRODUCTION and bool(_INTRODUCES.match(text))


def is_about_part(text: str, place: int) -> bool:
    """Return whether a sentence is about a package or program that an earlier sentence has named."""
    return place > _MAX_SUBJECT and bool(_PART.match(text))


def full_stop(language: str) -> str:
    """Return the full stop of a language."""
    return "\u3002" if language in UNSPACED else "."
