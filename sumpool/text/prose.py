"""Sentences of prose: marks around them, their ends, and whether they refer to the sentence before."""

import re
from typing import Final

from sumpool.text.language import ENGLISH, UNSPACED, languages, loose_words
from sumpool.text.sentences import CLOSING_MARKS, END_MARKS
from sumpool.text.words import WORD

PROSE_KINDS: Final = frozenset(("paragraph", "list_item"))
"""Kinds of blocks that hold prose."""

OPENING_MARKS: Final = "\"'\u201c\u201e\u00ab("
"""Quotation marks and brackets before a sentence."""
_LIST_MARK = re.compile(
    r"^(?:[-*+\u2022\u2023\u25e6\u00b7\u2013\u2014>#]+|\(?\d{1,3}[.)\u3001]|\d{1,2}(?:\.\d{1,3})+\.?|\(?[a-z][.)]"
    r"|\([a-zA-Z]\)|\(?[ivxIVX]{1,5}[.)]|\u00a7+ ?\d+[.:]?|A[:.](?= [A-Z])|o(?= [A-Z(\"]))\s+"
    r"|^(?:[\uff08(]?[\d\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]{1,3}[\uff09)\u3001.\uff0e])\s*"
    r"(?=[\u3040-\u9fff])"
)
_LABEL = re.compile(r"([A-Za-z]+)(\s*[:.\u2013\u2014-])?\s+(?=[\"\u201c(]?[A-Z])")
_MARKUP = re.compile(r"(\*\*|__|``?)(?=\S)(.+?)(?<=\S)\1")
_END = re.compile(rf"[{END_MARKS}][{CLOSING_MARKS}\u00bb\u00ab\u201c]*$")
_PAIRS = (("(", ")"), ("[", "]"), ("\uff08", "\uff09"), ("\u300c", "\u300d"))
_QUOTES, _GERMAN_QUOTES = ("\u201c", "\u201d"), ("\u201e", "\u201c")
_GUILLEMETS = re.compile(r"[\u00ab\u00bb]")


def tidy_sentence(sentence: str) -> str:
    """Return a sentence without list marks, heading numbers, labels and inline markup, in one line."""
    text = " ".join(sentence.split())
    while mark := _LIST_MARK.match(text):
        text = text[mark.end() :]
    text = _MARKUP.sub(r"\2", text)
    label = _LABEL.match(text)
    is_label = (
        label
        and label[1].lower() in languages()[ENGLISH].labels
        and (label[2] or label[1].isupper() or label[1] == "Abstract")
    )
    return text[label.end() :] if label and is_label else text


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
    first, *others = [*WORD.findall(start[:80])[:4], ""]
    return first in words.anaphora and not any(word.startswith(words.self_references) for word in others)


def without_connective(sentence: str, language: str = ENGLISH) -> str:
    """Return a sentence without the adverb and comma that connect it with the one before ("However, ...")."""
    word, _, rest = sentence.partition(", ")
    known = languages().get(language)
    is_connective = bool(rest) and known is not None and word.lower() in known.anaphora
    return capitalise(rest) if is_connective else sentence


def capitalise(text: str) -> str:
    """Return a text with a capital behind its opening quotation marks and brackets."""
    place = len(text) - len(text.lstrip(OPENING_MARKS))
    return f"{text[:place]}{text[place : place + 1].upper()}{text[place + 1 :]}"


def is_balanced(sentence: str) -> bool:
    """Return whether brackets and quotation marks are closed, none before it is opened."""
    quotes = _GERMAN_QUOTES if "\u201e" in sentence else _QUOTES
    marks = _GUILLEMETS.findall(sentence)
    guillemets = (marks[0], "\u00bb" if marks[0] == "\u00ab" else "\u00ab") if marks else quotes
    return not sentence.count('"') % 2 and all(_is_closed(sentence, pair) for pair in (*_PAIRS, quotes, guillemets))


def ends_sentence(sentence: str) -> bool:
    """Return whether a sentence ends with an end mark, and no words were lost before it."""
    last = sentence.rpartition(" ")[2].lstrip(OPENING_MARKS).removesuffix(".")
    return bool(_END.search(sentence)) and last not in loose_words()


def _is_closed(sentence: str, pair: tuple[str, str]) -> bool:
    if pair[0] not in sentence and pair[1] not in sentence:
        return True
    depth = 0
    for character in sentence:
        depth += (character == pair[0]) - (character == pair[1])
        if depth < 0:
            return False
    return not depth
