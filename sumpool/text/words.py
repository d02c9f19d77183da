"""Content words of a sentence in any language, for measures of similarity."""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import final

import snowballstemmer

from sumpool.text.language import UNSPACED, languages

_WORD = re.compile(r"[^\W_]+")
_UNSPACED_RUN = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


@final
class ContentWords:
    """Tokenizer of content words: lower case, stemmed by Snowball, without function words.

    In languages without spaces between words the bigrams of characters take their place.
    """

    def __init__(self, language: str) -> None:
        """Use the function words and the stemmer of a language; one without them keeps its words as they are."""
        known = languages().get(language)
        self._function_words = known.function_words if known else frozenset()
        self._is_unspaced = language in UNSPACED
        self._stem: Callable[[str], str] = _identity
        if known and known.stemmer:
            self._stem = _stem_of(known.stemmer)

    def __call__(self, text: str) -> list[str]:
        """Return the content words of a text, in order."""
        text = text.lower()
        bigrams: list[str] = []
        if self._is_unspaced:
            for run in _UNSPACED_RUN.findall(text):
                bigrams += ["".join(pair) for pair in pairwise(run)] or [run]
            text = _UNSPACED_RUN.sub(" ", text)
        words = (word for word in _WORD.findall(text) if word not in self._function_words and len(word) > 1)
        return [*bigrams, *map(self._stem, words)]


@cache
def _stem_of(name: str) -> Callable[[str], str]:
    """Return the function of a stemmer; words that were stemmed before are kept, as a stem takes 50 microseconds."""
    return lru_cache(maxsize=1 << 15)(snowballstemmer.stemmer(name).stemWord)


def _identity(word: str) -> str:
    return word
