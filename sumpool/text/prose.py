"""Sentences of prose: marks around them, their ends, whether they refer to the sentence before, and their repair.

A sentence is whole if it begins with a capital, ends with a full stop, closes its brackets and quotation marks, and is
no heading, number or list item.
"""

import re
from collections.abc import Sequence
from typing import Final

from sumpool.text.language import ENGLISH, UNSPACED, find_words, function_words, is_alphabetic, languages, loose_words
from sumpool.text.sentences import has_end_mark, list_mark

PROSE_KINDS: Final = frozenset(("paragraph", "list_item"))
"""Kinds of blocks that hold prose."""

OPENING_MARKS: Final = "\"'\u201c\u201e\u00ab("
"""Quotation marks and brackets before a sentence."""
_CITATION = re.compile(r"(?P<before>[^\s\w]|(?<![\w\u2019'-])[\w\u2019'-]+) \[\d{1,3}(?:[,\u2013-]\d{1,3})*\]")
"""Numbers of a bibliography that the document has and its summary has not, with the word before."""
_PAIRS = (("(", ")"), ("[", "]"), ("\uff08", "\uff09"), ("\u300c", "\u300d"))
_QUOTES, _GERMAN_QUOTES, _GUILLEMETS = ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb")
_MIN_SENTENCE_WORDS, _MAX_HEADING_WORDS = 3, 8
"""Words of a sentence, and of a heading; between, function words tell them apart."""
_PAIRED = str.maketrans("", "", '()[]"\u201c\u201d')
"""Removes brackets and quotation marks."""
_LOOSE_MARKS = " ,;:\u2013-"


def tidy_sentence(sentence: str) -> str:
    """Return a sentence without list marks, in one line."""
    text = " ".join(sentence.split())
    while mark := list_mark(text):
        text = text[mark:]
    return text


def without_citations(sentence: str, language: str = ENGLISH) -> str:
    """Return a sentence without citations such as "[3]", but those that a function word needs ("as in [3]")."""
    if " [" not in sentence:
        return sentence
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
    for opening, closing in (*_PAIRS, quotes, guillemets):
        depth = 0
        for mark in re.findall(f"[{re.escape(opening + closing)}]", sentence):
            depth += 1 if mark == opening else -1
            if depth < 0:
                return False
        if depth:
            return False
    return not sentence.count('"') % 2


def ends_sentence(sentence: str) -> bool:
    """Return whether a sentence ends with an end mark, and no words were lost before it."""
    last = sentence.rpartition(" ")[2].lstrip(OPENING_MARKS).removesuffix(".")
    return has_end_mark(sentence) and last not in loose_words()


def is_whole(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence is whole.

    Args:
        sentence: The sentence, in one line.
        language: Code of its language; unknown ones have no function words that tell headings.
    """
    return (
        not _lacks_capital(sentence)
        and ends_sentence(sentence)
        and is_balanced(sentence)
        and not _is_heading(sentence, language)
        and tidy_sentence(sentence) == " ".join(sentence.split())
    )


def _lacks_capital(sentence: str) -> bool:
    """Return whether a sentence begins in lower case, and not with a name such as iSCSI or sha256."""
    word = sentence.lstrip(OPENING_MARKS).partition(" ")[0].rstrip(".,;:!?)\"'")
    return word[:1].islower() and word.islower() and word.isalpha()


def _is_heading(sentence: str, language: str) -> bool:
    """Return whether a text is a heading, a number or a name rather than a sentence."""
    words = [word for word in find_words(sentence) if is_alphabetic(word)]
    if len(words) < _MIN_SENTENCE_WORDS or sentence.isupper():
        return True
    if len(words) > _MAX_HEADING_WORDS:
        return False
    long = [word for word in words if len(word) > 3]
    profile = function_words(language)
    lacks_function_words = len(words) > _MIN_SENTENCE_WORDS and not any(word.lower() in profile for word in words)
    is_title = language == ENGLISH and len(long) > 1 and all(word[0].isupper() for word in long)
    return bool(profile) and (is_title or lacks_function_words)


def is_whole_text(sentences: Sequence[str], language: str = ENGLISH) -> bool:
    """Return whether all sentences are whole, and the first one refers to none before it."""
    return all(is_whole(sentence, language) for sentence in sentences) and not any(
        depends_on_predecessor(sentence, language) for sentence in sentences[:1]
    )


def repair_text(sentences: Sequence[str], language: str = ENGLISH, document: str = "") -> list[str]:
    """Repair the sentences of a written text, and drop those that cannot be repaired.

    List marks, and brackets and quotation marks that are not closed, are removed, and connectives where the sentence
    before is missing; capitals are added. Sentences are dropped that are headings, numbers or parts of others, or that
    refer to a predecessor that is missing. A trailing fragment is dropped, unless it is all there is.

    Args:
        sentences: The sentences in order; fragments of any kind are allowed.
        language: Code of the language; texts in scripts without spaces are returned unchanged.
        document: Text of the document in one line; a sentence of it that refers to its predecessor needs the same one
            in the summary. Other sentences need any.

    Returns:
        At least one sentence, unless the text has no word.
    """
    if language in UNSPACED:
        return list(sentences)
    repaired: list[str] = []
    before = ""
    for sentence in sentences:
        text = repair_sentence(sentence, language)
        if text and depends_on_predecessor(text, language):
            start = document.find(text) if document else -1
            is_behind = start < 0 or document[:start].rstrip().endswith(before) or before not in document
            if start and not (before and is_behind):
                text = without_connective(text, language)
                text = "" if depends_on_predecessor(text, language) else text
        before = text
        if text and text not in repaired:
            repaired.append(text)
    # The longest fragment as a sentence, without words that end none.
    fragments = [tidy_sentence(sentence).translate(_PAIRED).strip() for sentence in sentences]
    fragments = [fragment for fragment in fragments if any(map(str.isalpha, fragment))]
    if repaired or not fragments:
        return repaired
    longest = max(fragments, key=len)
    words = longest.rstrip(_LOOSE_MARKS).split(" ")
    while words and (words[-1].lower() in loose_words() or not words[-1].strip(_LOOSE_MARKS)):
        words.pop()
    text = " ".join(words).rstrip(_LOOSE_MARKS)
    return [capitalise((text if ends_sentence(text) else f"{text}.") if text else longest)]


def repair_sentence(sentence: str, language: str = ENGLISH) -> str:
    """Repair a sentence; empty if it cannot be."""
    text = tidy_sentence(sentence)
    if _lacks_capital(text):
        if text.lstrip(OPENING_MARKS).partition(" ")[0].rstrip(",") not in function_words(language):
            return ""
        text = capitalise(text)
    if not is_balanced(text):
        text = text.translate(_PAIRED)
    return text if is_whole(text, language) else ""
