"""Form of written summaries: whether their sentences are whole, and the repair of a text.

A sentence is whole if it begins with a capital, ends with a full stop, closes its brackets and quotation marks, and is
no heading, number or list item.
"""

from collections.abc import Sequence

from sumpool.text.language import ENGLISH, UNSPACED, find_words, function_words, is_alphabetic, loose_words
from sumpool.text.prose import (
    OPENING_MARKS,
    capitalise,
    depends_on_predecessor,
    ends_sentence,
    is_balanced,
    tidy_sentence,
    without_connective,
)

_MIN_SENTENCE_WORDS, _MAX_HEADING_WORDS = 3, 8
"""Words of a sentence, and of a heading; between, function words tell them apart."""
_PAIRED = str.maketrans("", "", '()[]"\u201c\u201d')
"""Removes brackets and quotation marks."""
_LOOSE_MARKS = " ,;:\u2013-"


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


def _precedes(before: str, sentence: str, document: str) -> bool:
    """Return whether a sentence stands behind the one that it refers to, or begins its document."""
    start = document.find(sentence) if document else -1
    if start == 0 or not before:
        return start == 0
    return start < 0 or document[:start].rstrip().endswith(before) or before not in document


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
        if text and depends_on_predecessor(text, language) and not _precedes(before, text, document):
            text = without_connective(text, language)
            text = "" if depends_on_predecessor(text, language) else text
        before = text
        if text and text not in repaired:
            repaired.append(text)
    return repaired or _best_fragment(sentences)


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


def _best_fragment(sentences: Sequence[str]) -> list[str]:
    """Return the longest fragment as a sentence; nothing if there is no word."""
    fragments = [tidy_sentence(sentence).translate(_PAIRED).strip() for sentence in sentences]
    fragments = [fragment for fragment in fragments if any(map(str.isalpha, fragment))]
    if not fragments:
        return []
    longest = max(fragments, key=len)
    return [capitalise(_with_full_stop(longest) or longest)]


def _with_full_stop(text: str) -> str:
    words = text.rstrip(_LOOSE_MARKS).split(" ")
    while words and (words[-1].lower() in loose_words() or not words[-1].strip(_LOOSE_MARKS)):
        words.pop()
    text = " ".join(words).rstrip(_LOOSE_MARKS)
    return text if not text or ends_sentence(text) else f"{text}."
