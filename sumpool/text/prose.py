"""Sentences of prose: marks around them, their ends, and whether they refer to the sentence before."""

import re
from typing import Final

from sumpool.text.language import ENGLISH, UNSPACED, languages

PROSE_KINDS: Final = frozenset(("paragraph", "list_item"))
"""Kinds of blocks that hold prose."""

_OPENING = "\"'\u201c\u201e\u00ab("
_LIST_MARK = re.compile(
    r"^(?:[-*+\u2022\u2023\u25e6\u00b7\u2013\u2014>#]+|\(?\d{1,3}[.)\u3001]|\d{1,2}(?:\.\d{1,3})+\.?|\(?[a-z][.)]"
    r"|\([a-zA-Z]\)|\(?[ivxIVX]{1,5}[.)]|\u00a7+ ?\d+[.:]?|A[:.](?= [A-Z])|o(?= [A-Z(\"]))\s+"
    r"|^(?:[\uff08(]?[\d\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]{1,3}[\uff09)\u3001.\uff0e])\s*"
    r"(?=[\u3040-\u9fff])"
)
_LABEL = re.compile(
    r"^(?:(?:NOTE|WARNING|IMPORTANT|CAUTION|TIP|ATTENTION|REMARK|HINT|INCOMPATIB\w+|BREAKING(?: CHANGES?)?|DEPRECATED"
    r"|FIX(?:ED)?|BUG ?FIX|FEATURE|NEW|CHANGED?|ADDED|REMOVED|SECURITY|ABSTRACT|SUMMARY|INTRODUCTION|DESCRIPTION"
    r"|OVERVIEW)"
    r"\s*[:.\u2013\u2014-]?|(?:Note|Warning|Important|Caution|Tip|Abstract|Summary|Remark)\s*[:.\u2013\u2014-])\s+"
    r"(?=[\"\u201c(]?[A-Z])"
    r"|^Abstract (?=(?:In|We|This|The|It|An?|Our|To|For|With|As|There|These|Here)\b)"
)
"""Label in capitals or before a colon, or the label Abstract, at the start of a sentence."""
_MARKUP = re.compile(r"(\*\*|__|``?)(?=\S)(.+?)(?<=\S)\1")
_TERMINAL = re.compile(r"[.!\u2026\u3002\uff01\uff0e\uff61][\"'\u201d\u2019\u00bb\u00ab\u201c)\]\u300d\u300f\uff09]*$")
_UNFINISHED = re.compile(
    r"\b(?:an?|and|as|because|by|for|from|if|of|or|than|the|to|when|whether|und|oder|der|die|von|wenn|et|de|les?)\.$"
)
"""End of a sentence whose last words were lost, such as a formula."""
_IMPERSONAL = re.compile(
    r"it is (?:\w+ )?(?:possible|important|necessary|recommended|easy) |es gibt |es ist (?:m\u00f6glich|wichtig) "
    r"|il y a |il est (?:possible|important|recommand\u00e9) "
)
"""Start of a sentence whose pronoun refers to nothing."""
_DEMONSTRATIVES: Final = frozenset(
    (
        "this",
        "these",
        "dies",
        "diese",
        "dieser",
        "dieses",
        "diesem",
        "ce",
        "cet",
        "cette",
        "ces",
        "este",
        "esta",
        "estos",
        "estas",
        "это",
        "этот",
        "эта",
        "эти",
        "этого",
        "этой",
    )
)
"""Words that with a noun such as "manual" refer to the document."""
_UNSPACED_DEMONSTRATIVES: Final = ("这", "這", "该", "該", "此", "この", "本")
_PAIRS = (("(", ")"), ("[", "]"), ("\uff08", "\uff09"), ("\u300c", "\u300d"))
_QUOTES, _GERMAN_QUOTES = ("\u201c", "\u201d"), ("\u201e", "\u201c")
_GUILLEMETS = re.compile(r"[\u00ab\u00bb]")
_WORD = re.compile(r"[^\W\d_]+")


def tidy_sentence(sentence: str) -> str:
    """Return a sentence without list marks, heading numbers, labels and inline markup, in one line."""
    text = " ".join(sentence.split())
    while mark := _LIST_MARK.match(text):
        text = text[mark.end() :]
    return _LABEL.sub("", _MARKUP.sub(r"\2", text))


def depends_on_predecessor(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence begins with a word that refers to the sentence before it.

    "This manual ..." refers to the document and stands alone.
    """
    words = languages().get(language)
    if words is None:
        return False
    start = sentence.lstrip(_OPENING + " ").lower()
    if language in UNSPACED:
        is_self = any(noun in start[:8] for noun in words.self_references)
        return start.startswith(tuple(words.anaphora)) and not (is_self and start.startswith(_UNSPACED_DEMONSTRATIVES))
    if _IMPERSONAL.match(start):
        return False
    first, *others = [*_WORD.findall(start[:80])[:4], ""]
    if first not in words.anaphora:
        return False
    if first not in _DEMONSTRATIVES:
        return True
    if language == ENGLISH:  # "these programmers" are not the document
        nouns = words.self_references
        return not any(word in nouns or word.removesuffix("s") in nouns for word in others)
    return not any(word.startswith(words.self_references) for word in others if word)


def is_balanced(sentence: str) -> bool:
    """Return whether brackets and quotation marks are closed, none before it is opened."""
    quotes = _GERMAN_QUOTES if "\u201e" in sentence else _QUOTES
    marks = _GUILLEMETS.findall(sentence)
    guillemets = (marks[0], "\u00bb" if marks[0] == "\u00ab" else "\u00ab") if marks else quotes
    return not sentence.count('"') % 2 and all(_is_closed(sentence, pair) for pair in (*_PAIRS, quotes, guillemets))


def ends_sentence(sentence: str) -> bool:
    """Return whether a sentence ends with a full stop or an exclamation mark, and no words were lost before it."""
    return bool(_TERMINAL.search(sentence)) and not _UNFINISHED.search(sentence)


def _is_closed(sentence: str, pair: tuple[str, str]) -> bool:
    if pair[0] not in sentence and pair[1] not in sentence:
        return True
    depth = 0
    for character in sentence:
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return not depth
