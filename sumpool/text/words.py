"""Words of a text, in lower case: which two count as the same word."""

from collections.abc import Sequence
from itertools import pairwise

from sumpool.text.language import ENGLISH, UNSPACED, find_words, function_words

_PREFIX = 6
"""First letters of a word that stand for it."""


def split_words(text: str, language: str = ENGLISH) -> list[str]:
    """Split a text into lower-case words; into pairs of characters in languages without spaces."""
    words = find_words(text.lower())
    if language not in UNSPACED:
        return words
    return [pair for word in words for pair in ([word] if word.isascii() else map("".join, pairwise(word)))]


def word_prefixes(words: Sequence[str]) -> list[str]:
    """Return the first letters of words, by which other forms of a word count as the same; it needs no stemmer."""
    return [word[:_PREFIX] for word in words]


def content_prefixes(words: Sequence[str], language: str = ENGLISH) -> list[str]:
    """Return the first letters of the words that are no function words and have two letters or more."""
    left_out = function_words(language)
    return word_prefixes([word for word in words if len(word) > 1 and word not in left_out])
