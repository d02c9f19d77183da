"""Porter's stemmer (Porter, 1980), with the extensions of nltk, which rouge-score uses.

Stems equal those of `nltk.stem.porter.PorterStemmer`, whose import takes longer than a short document, and three times
as long where scipy is installed. A word is in lower case. Letters other than a, e, i, o, u are consonants, and so is y
unless a consonant precedes it; the measure of a stem is the number of its runs of vowels that a consonant follows.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

_VOWELS = frozenset("aeiou")
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_SHORT = 2
"""Letters of words that are left as they are."""
_IE_WORD = 4
"""Letters of words like "dies" and "died", whose stem keeps its e."""

Rules = Sequence[tuple[str, str]]
"""Suffixes and what replaces them; the first that a word has is the only one that counts."""
STEP_2: Rules = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"), ("logi", "log")),
)
STEP_3: Rules = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
STEP_4: Rules = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
        *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    )
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of an English word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= _SHORT:
        return word
    word = _without_participle(_without_plural(word))
    if word.endswith("y") and len(word) > _SHORT and _consonants(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        word = word[:-2]
    # "logi" counts its l as a part of the stem, so that "theologi" is like "archaeologi"
    word = _replace(word, STEP_2, lambda kept, suffix: _measure(kept + "l" * (suffix == "logi")) > 0)
    word = _replace(word, STEP_3, lambda kept, _: _measure(kept) > 0)
    word = _replace(word, STEP_4, lambda kept, suffix: _measure(kept) > 1 and (suffix != "ion" or kept[-1] in "st"))
    if word.endswith("e"):
        kept = word[:-1]
        measure = _measure(kept)
        word = kept if measure > 1 or (measure == 1 and not _ends_short(kept)) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _without_plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == _IE_WORD else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == _IE_WORD else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        kept = word.removesuffix(suffix)
        if kept != word and "v" in _consonants(kept):
            return _completed(kept)
    return word


def _completed(kept: str) -> str:
    """Return the verb of a participle without its suffix."""
    if kept.endswith(("at", "bl", "iz")):
        return kept + "e"
    if len(kept) > 1 and kept[-1] == kept[-2] and _consonants(kept)[-1] == "c":
        return kept if kept[-1] in "lsz" else kept[:-1]
    return kept + "e" if _measure(kept) == 1 and _ends_short(kept) else kept


def _replace(word: str, rules: Rules, condition: Callable[[str, str], bool]) -> str:
    """Replace the first suffix of the rules that a word has, if a condition on stem and suffix holds."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            kept = word[: -len(suffix)]
            return kept + replacement if condition(kept, suffix) else word
    return word


def _consonants(word: str) -> str:
    """Return c for every consonant of a word, and v for every vowel."""
    letters = ""
    for letter in word:
        letters += "v" if letter in _VOWELS or (letter == "y" and letters.endswith("c")) else "c"
    return letters


def _measure(kept: str) -> int:
    return _consonants(kept).count("vc")


def _ends_short(kept: str) -> bool:
    """Return whether a stem ends with consonant, vowel and a consonant other than w, x, y, or is a vowel and one."""
    letters = _consonants(kept)
    return letters == "vc" or (letters.endswith("cvc") and kept[-1] not in "wxy")
