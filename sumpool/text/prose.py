"""Prose detection: the paragraphs and sentences of a document that a summary may consist of.

Headings, notices, list stubs, questions, field lists and code are parts of documents but say nothing alone. All rules
are patterns and shares of words; the words of other languages come from `languages.json`.
"""

import re
from collections.abc import Set
from functools import lru_cache
from typing import Final

from sumpool.text.language import ENGLISH, UNSPACED, languages, word_count
from sumpool.text.notices import notice_kind

PROSE_KINDS: Final = frozenset(("paragraph", "list_item"))
"""Kinds of blocks that hold prose."""

MIN_WORDS, MAX_WORDS = 5, 60
"""Words of a sentence of a summary; a Chinese or Japanese character counts as half a word."""
MAX_LICENCE_WORDS = 110
"""Words of a sentence of a licence, whose grants are long."""
_MIN_LETTERS = 0.7
"""Letters per character other than spaces."""
_MIN_FUNCTION_WORDS = 0.11
"""Function words per word of a sentence; a list of names or keywords has fewer."""

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
_CODE = re.compile(
    r"https?://|\bftp://|\bwww\.|\S@\S+\.\w|[{}|]|\\(?![A-Za-z@]+\d?\b)|\]\.\.\.|::|->|<-|=>|==|\w\(\);|\$\w|\$\(|</?\w|\w=\S"
    r"|^[#$%>]|(?<!\w)-{1,2}\w+=|;\s*$|_{3}|\+\+\+|\.\.\.\s+\w+\.\.\."
)
_INNER_MARK = re.compile(r"^(?!.*[(]1[)])[^(]*\s[(][2-9][)] |\s[\u2022\u25aa\u2023](?:\s|$)")
"""Item of a list in a sentence that lacks its first, or bullets between words."""
_FIELD = re.compile(r"^[^\s:\uff1a]{1,25}(?: [^\s:\uff1a]{1,25}){0,3}\s*[:\uff1a](?=\s|[^\x00-\x7f]|$)")
_MAX_FIELD = 15
"""Characters of the name of a field in Chinese or Japanese; a longer one is a clause."""
_POINTERS = (
    r"please\b|(?:see|cf|refer|consult|click|visit|send|report|contact|follow|read|continue|turn|skip|go)\b",
    r"if (?:so|not|this|that)\b|for (?:example|instance)\b|note\b",
    r"in (?:that|such|these|the same|either) \w+\b|in this (?:case|example|way|situation|mode|section)\b",
    r"(?:the (?:latter|former|same|other|alternative|second|third|remaining|above|following))\b",
    r"as an? example\b|of course\b",
    r"(?:for|to) (?:more|further|additional|full|complete|details|information|learn|find|read)\b",
    r"(?:more|further)\b.{0,30}\b(?:found|available)\b",
    r"(?:many |special )?thank|we (?:would like to )?(?:thank|acknowledge)|i (?:would like to |want to )?thank",
    r"as (?:described|shown|mentioned|noted|seen|explained|above)\b",
    r"(?:in )?(?:the )?(?:following|previous|next|preceding|above|below)\b",
    r"(?-i:By [A-Z]|[A-Z][A-Z0-9_]{4,}(?: \([^)]*\))?, (?:an?|the|eine?|der|die|das)\b)",
    r"for .*\bsee\b|mandatory arguments to long options",
    r"(?:figure|table|fig\.|listing|example) \d",
    r".*\bplease (?:also )?(?:refer|see|consult|read|visit|contact|report|send)\b|.*\u8bf7\u53c2[\u9605\u8003\u89c1]",
    r"(?:can|may|must|will|shall|should|is|are|has|have|does|was|were) (?:not )?[a-z]+\b(?![^.!]*\?)",
    r"(?:section|chapter|appendix) (?:\d|[A-Z]\b)|you are receiving this\b|patch(?:es)? (?:by|from)\b",
    r"in there\b|look at\b|(?:more )?information (?:on|about) .{1,60} (?:is|can be)\b",
    r"(?:now|so|firstly|secondly|thirdly|then|next|finally|lastly|back when)\b,? ",
    r"first, (?!and\b)|suppose\b|assume\b|imagine\b",
    r"if you (?:have|find) (?:any |other |further |more )?(?:proposals|questions|comments|suggestions|problems|bugs)\b",
    r"you are (?:recommended|advised|encouraged|invited) to\b",
    r"you (?:should|may want to|might want to) (?:read|work|see|look|consult|have read)\b",
)
_WORD_END: Final = r"(?!\w)"
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
_AMOUNT = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d\d)?(?!\d)")
"""Number with separators of thousands. It counts as one character, as a sentence about money may have several."""


def tidy_sentence(sentence: str) -> str:
    """Return a sentence without list marks, heading numbers, labels and inline markup, in one line."""
    text = " ".join(sentence.split())
    while mark := _LIST_MARK.match(text):
        text = text[mark.end() :]
    return _LABEL.sub("", _MARKUP.sub(r"\2", text))


def is_prose_sentence(
    sentence: str,
    language: str = ENGLISH,
    names: Set[str] = frozenset(),
    *,
    is_licence: bool = False,
    min_words: int = MIN_WORDS,
) -> bool:
    """Return whether a tidy sentence may be part of a summary: a whole statement in prose.

    Args:
        sentence: The sentence, see `tidy_sentence`.
        language: Code of its language.
        names: Lower-case names that may begin a sentence in lower case, such as the words of the title.
        is_licence: Whether the document is a licence, whose terms are its content.
        min_words: Words of the sentence at least.
    """
    longest = MAX_LICENCE_WORDS if is_licence else MAX_WORDS
    if not _TERMINAL.search(sentence) or not min_words <= word_count(sentence) <= longest:
        return False
    start = sentence.lstrip(_OPENING)
    if sentence[0] == "(" or not start[:1].isalnum():
        return False
    if start[:1].islower() and start.split()[0].rstrip(",:") not in names:
        return False
    if _UNFINISHED.search(sentence) or (language in UNSPACED and word_count(sentence) < len(sentence.split()) + 2):
        return False
    if _CODE.search(sentence) or _INNER_MARK.search(sentence) or _pointers().match(sentence):
        return False
    if (field := _FIELD.match(sentence)) and (language not in UNSPACED or field.end() <= _MAX_FIELD):
        return False
    if notice_kind(sentence) not in ("", "licence" if is_licence else ""):
        return False
    characters = _AMOUNT.sub("0", "".join(sentence.split()))
    if sum(map(str.isalpha, characters)) < _MIN_LETTERS * len(characters) or sentence.isupper():
        return False
    return is_balanced(sentence) and _has_function_words(sentence, language)


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


@lru_cache(maxsize=1)
def _pointers() -> re.Pattern[str]:
    """Start of a sentence that only refers to another place, in any language."""
    others = {code: language.patterns.get("pointers") for code, language in languages().items()}
    starts = (rf"(?:{start}){'' if code in UNSPACED else _WORD_END}" for code, start in others.items() if start)
    return re.compile("|".join((*_POINTERS, *starts)), re.IGNORECASE)


def _is_closed(sentence: str, pair: tuple[str, str]) -> bool:
    if pair[0] not in sentence and pair[1] not in sentence:
        return True
    depth = 0
    for character in sentence:
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return not depth


def _has_function_words(sentence: str, language: str) -> bool:
    profile = languages()[language].function_words if language in languages() else frozenset()
    words = [word.lower() for word in _WORD.findall(sentence)]
    return not profile or sum(word in profile for word in words) >= _MIN_FUNCTION_WORDS * len(words)
