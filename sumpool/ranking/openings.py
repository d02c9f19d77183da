"""Openings of documents: the line that names a manual page's subject, and sentences that say what the document is."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import ENGLISH, UNSPACED, languages, word_count

_NAME_LINE = re.compile(
    r"^(?:[A-Z]{2,} ){0,2}[\w.+:-]{1,40}(?:, ?[\w.+:-]{1,40}){0,8} (?:-|--|\u2013|\u2014) [^\W\d_].{3,}$"
)
_MAX_NAME_LINE_WORDS = 30
_INTRODUCES = re.compile(
    r"this (?:file|folder|directory|repository|archive|page|list) (?:is|contains|describes|explains|provides|lists)\b"
    r"|this is (?-i:[A-Z])|hier (?:werden|wird|beschreibe|finden) |(?:this|das|dies|c'est|\u044d\u0442\u043e|\u8fd9)"
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
_AUTHORS = re.compile(
    r"(?:here,? |in this \w+,? )?we (?:describe|discuss|give|introduce|present|propose|provide|report|review)\b"
    r"|(?:the|its|our) (?:main )?(?:aim|goal|intention|objective|purpose|scope) of this ",
    re.IGNORECASE,
)
_TERM_KINDS = ("paragraph", "list_item", "code")
_MAX_TERM_WORDS = 8
SENTENCE_ENDS: Final = ".!?:;,\u3002\uff1a\uff01\uff1f"
"""Punctuation that ends a sentence or a clause."""


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


def describes_term(sentences: Sequence[SourceSentence], index: int) -> bool:
    """Return whether the block of a sentence describes the term before it: an option, a function or a name."""
    first = index
    while first > 0 and sentences[first - 1].block == sentences[index].block:
        first -= 1
    if not first:
        return False
    term = sentences[first - 1]
    is_line = term.kind in _TERM_KINDS and (first < 2 or sentences[first - 2].block != term.block)
    return is_line and len(term.text.split()) <= _MAX_TERM_WORDS and not term.text.endswith(tuple(SENTENCE_ENDS))


def refers_to_document(text: str, language: str) -> bool:
    """Return whether a sentence begins with the document ("this manual ...") or what its authors do in it."""
    pattern = _self_reference(language)
    if pattern is None:
        return False
    return bool(language == ENGLISH and _AUTHORS.match(text)) or bool(pattern.match(text))


@cache
def _self_reference(language: str) -> re.Pattern[str] | None:
    """Compile the start of a sentence that begins with the document; None in a language without nouns for it."""
    known = languages().get(language)
    nouns = "|".join(map(re.escape, known.self_references)) if known else ""
    if not known or not nouns:
        return None
    if not known.function_words:
        return re.compile(rf"\u672c|(?:[\u8fd9\u8be5\u6b64\u5f53]|\u3053\u306e).{{0,4}}(?:{nouns})")
    starts = "|".join(sorted(known.anaphora | {"the", "our"}))
    return re.compile(rf"(?:in )?(?:{starts}) (?:\w+ ){{0,2}}?(?:{nouns})|in \w+ (?:{nouns})", re.IGNORECASE)


def full_stop(language: str) -> str:
    """Return the full stop of a language."""
    return "\u3002" if language in UNSPACED else "."
