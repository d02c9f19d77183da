"""Sentences of prose: marks around them, their ends, and whether they refer to the sentence before."""

import re
from typing import Final

from sumpool.text.language import ENGLISH, UNSPACED, find_words, function_words, languages, loose_words
from sumpool.text.sentences import has_end_mark, list_mark

PROSE_KINDS: Final = frozenset(("paragraph", "list_item"))
"""Kinds of blocks that hold prose."""

OPENING_MARKS: Final = "\"'\u201c\u201e\u00ab("
"""Quotation marks and brackets before a sentence."""
_CITATION = re.compile(r"(?P<before>[^\s\w]|(?<![\w\u2019'-])[\w\u2019'-]+) \[\d{1,3}(?:[,\u2013-]\d{1,3})*\]")
"""Numbers of a bibliography that the document has and its summary has not, with the word before."""
_PAIRS = (("(", ")"), ("[", "]"), ("\uff08", "\uff09"), ("\u300c", "\u300d"))
_QUOTES, _GERMAN_QUOTES, _GUILLEMETS = ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb")


def tidy_sentence(sentence: str) -> str:
    """Return a sentence without list marks, in one line."""
    text = " ".join(sentence.split())
    while mark := list_mark(text):
        text = text[mark:]
    return text


def without_citations(sentence: str, language: str = ENGLISH) -> str:
    """Return a sentence without citations such as "[3]", but those that a function word needs ("as in [3]")."""
    kept = function_words(language)
    return _CITATION.sub(lambda match: match[0] if match["before"].lower() in kept else match["before"], sentence)


def depends_on_predecessor(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence begins with a word that refers to the sentence before it.

    "This manual ..." refers to the document and stands alone.
    """
    words = languages().get(language)
    if words is None:
        return False
    start = sentence.lstrip(OPENING_MARKS + " ").lower()
    if language in UNSPACED:
        return start.startswith(tuple(words.anaphora)) and not any(noun in start[:8] for noun in words.self_references)
    first, *others = [*find_words(start[:80])[:4], ""]
    return first in words.anaphora and not any(word.startswith(words.self_references) for word in others)


def without_connective(sentence: str, language: str = ENGLISH) -> str:
    """Return a sentence without the adverb and comma that connect it with the one before ("However, ...")."""
    word, _, rest = sentence.partition(", ")
    known = languages().get(language)
    is_connective = bool(rest) and known is not None and word.lower() in known.anaphora
    return capitalise(rest) if is_connective else sentence


def capitalise(text: str) -> str:
    """Return a text with a capital behind its opening quotation marks and brackets."""
    start = len(text) - len(text.lstrip(OPENING_MARKS))
    return f"{text[:start]}{text[start : start + 1].upper()}{text[start + 1 :]}"


def is_balanced(sentence: str) -> bool:
    """Return whether brackets and quotation marks are closed, none before it is opened."""
    quotes = _GERMAN_QUOTES if "\u201e" in sentence else _QUOTES
    is_inwards = -1 < sentence.find("\u00bb") < sentence.find("\u00ab")  # as in German
    guillemets = _GUILLEMETS[::-1] if is_inwards else _GUILLEMETS
    return not sentence.count('"') % 2 and all(_is_closed(sentence, pair) for pair in (*_PAIRS, quotes, guillemets))


def ends_sentence(sentence: str) -> bool:
    """Return whether a sentence ends with an end mark, and no words were lost before it."""
    last = sentence.rpartition(" ")[2].lstrip(OPENING_MARKS).removesuffix(".")
    return has_end_mark(sentence) and last not in loose_words()


def _is_closed(sentence: str, pair: tuple[str, str]) -> bool:
    if pair[0] not in sentence and pair[1] not in sentence:
        return True
    depth = 0
    for character in sentence:
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return not depth
