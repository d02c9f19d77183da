"""Words of a text, which two count as the same, and the language that they are in, by script and function words.

The script decides for languages that have one of their own (Chinese, Japanese, Korean, Greek ...); Latin and Cyrillic
texts belong to the language whose function words make up the largest share of their words. Profiles of at most 60 words
suffice for documents: a third of the words of prose are function words. Rejected: py3langid (BSD, 4.6 MB) and lingua
(Apache-2.0, 96 MB), which no document of at least 20 words needs.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from sumpool.io.bounded import parse_json

_MARKS = "".join(
    chr(code) for code in (*range(0x300, 0x1E00), *range(0xA66F, 0xAC00)) if unicodedata.category(chr(code))[0] == "M"
)
"""Accents, vowel signs and tone marks, which belong to the letter before them."""
_WORD: Final = re.compile(rf"\w[\w\u200c\u200d{_MARKS}]*")
ENGLISH: Final = "en"
UNDETECTED: Final = ""
"""Code of a text whose language is not clear."""

UNSPACED: Final = frozenset(("zh", "ja", "th", "my", "km"))
"""Languages that do not separate words by spaces."""

FULL_WIDTH: Final = frozenset(("zh", "ja"))
"""Languages whose punctuation has its own space, so that none stands between sentences."""

_SAMPLE_CHARACTERS = 5_000
"""Characters per sample; a longer text is sampled at its beginning, middle and end."""
_MIN_WORDS, _MIN_SCRIPT_WORDS = 20, 8
"""Words of a text at least; fewer suffice where the script leaves few languages."""
_MIN_SHARE = 0.12
"""Function words per word of a text at least; prose has .25 to .45, word lists and code have fewer."""
_MIN_VARIETY = 5
"""Distinct function words of a text at least; names of variables in code are few."""
_MIN_SCRIPT_SHARE = 0.2
"""Letters of another script per letter at least; half is too many, as technical prose quotes English terms."""
_UNSPACED_LETTERS = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Tibetan, Burmese and Khmer, signs of vowels and syllables included."""
_ASCII = re.compile("[\x00-\x7f]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_SCRIPTS = {
    "cyrillic": "\u0400-\u052f",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
    "hy": "\u0530-\u058f\ufb13-\ufb17",
    "bn": "\u0980-\u09ff",
    "pa": "\u0a00-\u0a7f",
    "gu": "\u0a80-\u0aff",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "kn": "\u0c80-\u0cff",
    "ml": "\u0d00-\u0d7f",
    "si": "\u0d80-\u0dff",
    "bo": "\u0f00-\u0fff",
    "my": "\u1000-\u109f",
    "am": "\u1200-\u139f",
    "km": "\u1780-\u17ff",
    "kana": "\u3040-\u30ff\uff66-\uff9f",
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
}
"""Characters of each script, by the language that alone has it, or by its name."""
_CYRILLIC_LANGUAGES = ("ru", "uk", "bg")
_PERSIAN_LETTERS, _URDU_LETTERS = "پچژگی", "ٹڈڑںےہ"
_MIN_KANA = 0.05
"""Kana per letter of Japanese at least; Chinese texts quote fewer."""

_PREFIX = 6
"""First letters of a word that stand for it."""


@dataclass(frozen=True)
class Language:
    """Words of a language that identify it and delimit its sentences.

    Attributes:
        code: Code of ISO 639-1.
        name: English name.
        function_words: Its most frequent articles, prepositions, pronouns and conjunctions; empty where the script
            identifies the language.
        abbreviations: Abbreviations, without their final period.
        ordinals: Whether a number with a period is an ordinal ("3. Oktober").
        anaphora: Words at the start of a sentence that refers to the sentence before it.
        self_references: Nouns that refer to the document itself after such a word ("this manual").
        contents: Label of a table of contents.
        loose: Words that end no sentence: those behind them were lost, such as a formula.
    """

    code: str
    name: str
    function_words: frozenset[str]
    abbreviations: frozenset[str]
    ordinals: bool
    anaphora: frozenset[str]
    self_references: tuple[str, ...]
    contents: str
    loose: frozenset[str]


@lru_cache(maxsize=1)
def languages() -> dict[str, Language]:
    """Return the known languages by their codes."""
    content = parse_json(files("sumpool.text").joinpath("languages.json").read_text("utf-8"))
    return {
        code: Language(
            code=code,
            name=fields["name"],
            function_words=frozenset(fields["function_words"].split()),
            abbreviations=frozenset(fields["abbreviations"].split()),
            ordinals=fields.get("ordinals", False),
            anaphora=frozenset(fields["anaphora"].split()),
            self_references=tuple(filter(None, fields["self"].split("|"))),
            contents=fields["contents"],
            loose=frozenset(fields.get("loose", "").split()),
        )
        for code, fields in content.items()
    }


@lru_cache(maxsize=1)
def loose_words() -> frozenset[str]:
    """Return the words of all languages that end no sentence."""
    return frozenset[str]().union(*(language.loose for language in languages().values()))


def find_words(text: str) -> list[str]:
    """Return the words of a text: letters and digits, with the marks of scripts and joiners between them."""
    return _WORD.findall(text.replace("_", " "))


def is_alphabetic(word: str) -> bool:
    """Return whether a word has no digits."""
    return word.isalpha() or not any(map(str.isnumeric, word))


def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language; none if it is not known."""
    known = languages().get(language)
    return known.function_words if known else frozenset()


def separator(language: str) -> str:
    """Return what stands between the sentences of a language: a space, or nothing."""
    return "" if language in FULL_WIDTH else " "


def language_name(code: str) -> str:
    """Return the English name of a language; its code if it is not known."""
    return languages()[code].name if code in languages() else code


def detect_language(text: str) -> str:
    """Identify the language of a text.

    Returns:
        The code of the language; UNDETECTED for a text of fewer than 20 words, or one that is not prose of a known one.
    """
    sample = text
    if len(text) > 3 * _SAMPLE_CHARACTERS:
        starts = (0, (len(text) - _SAMPLE_CHARACTERS) // 2, len(text) - _SAMPLE_CHARACTERS)
        sample = "\n".join(text[start : start + _SAMPLE_CHARACTERS] for start in starts)
    words = [word for word in find_words(sample.lower()) if is_alphabetic(word)]
    letters = sum(map(len, words))
    others = _ASCII.sub("", sample)
    counts = {script: len(re.findall(f"[{characters}]", others)) for script, characters in _SCRIPTS.items()}
    script = _main_script(counts, letters)
    if script in ("han", "kana"):
        return "ja" if counts["kana"] > _MIN_KANA * letters else "zh"
    if script == "arabic":
        if sum(map(sample.count, _URDU_LETTERS)) > counts["arabic"] / 50:
            return "ur"
        return "fa" if sum(map(sample.count, _PERSIAN_LETTERS)) > counts["arabic"] / 50 else "ar"
    if script == "cyrillic":
        words = [word for word in words if "\u0400" <= word[0] <= "\u052f"]
        return _by_function_words(words, _CYRILLIC_LANGUAGES, _MIN_SCRIPT_WORDS)
    if script:
        return script
    spaced = (code for code, language in languages().items() if language.function_words)
    return _by_function_words(words, tuple(code for code in spaced if code not in _CYRILLIC_LANGUAGES))


def language_mismatch(language: str, learnt: str) -> str:
    """Return why a model cannot summarise a text in a language; empty if it may.

    Args:
        language: Language of the text, see `detect_language`.
        learnt: Language that the model has learnt; UNDETECTED if that is not known.
    """
    if UNDETECTED in (language, learnt) or language == learnt:
        return ""
    return f"this text is in {language_name(language)}, the model has learnt {language_name(learnt)}"


def word_count(text: str) -> int:
    """Count words; in scripts without spaces, a Chinese or Japanese character is half a word, another a fifth."""
    characters = letters = 0
    if not text.isascii():
        text, characters = _CJK.subn(" ", text)
        text, letters = _UNSPACED_LETTERS.subn(" ", text)
    # Line by line, as a list of the words of a book takes ten times the memory of its text.
    return sum(map(len, map(str.split, text.split("\n")))) - (-characters // 2) - (-letters // 5)


def _main_script(counts: dict[str, int], letters: int) -> str:
    """Return the most frequent script other than Latin; empty if the text is Latin."""
    counts = counts | {"han": counts["han"] + counts["kana"]}
    script = max(counts, key=counts.__getitem__)
    # A Chinese character stands for a word, which takes about two.
    share = counts[script] * (2 if script == "han" else 1) / max(letters, 1)
    return script if counts[script] >= _MIN_WORDS and share >= _MIN_SCRIPT_SHARE else ""


def _by_function_words(words: list[str], codes: tuple[str, ...], minimum: int = _MIN_WORDS) -> str:
    if len(words) < minimum:
        return UNDETECTED
    known, counts = languages(), Counter(words)
    shares = {code: sum(counts[word] for word in known[code].function_words) / len(words) for code in codes}
    best = max(shares, key=shares.__getitem__)
    # Single letters do not count, which are the options of a program rather than words of Czech.
    variety = sum(word in counts for word in known[best].function_words if len(word) > 1)
    is_clear = shares[best] >= _MIN_SHARE and variety >= min(_MIN_VARIETY, minimum // 4)
    return best if is_clear else UNDETECTED


def split_words(text: str, language: str = ENGLISH) -> list[str]:
    """Split a text into lower-case words; into pairs of characters in languages without spaces."""
    words = find_words(text.lower())
    if language not in UNSPACED:
        return words
    return [pair for word in words for pair in ([word] if word.isascii() else map("".join, pairwise(word)))]


def content_prefixes(words: Sequence[str], language: str = ENGLISH) -> list[str]:
    """Return the first letters of the words that are no function words and have two letters or more.

    By them other forms of a word count as the same; it needs no stemmer.
    """
    left_out = function_words(language)
    return [word[:_PREFIX] for word in words if len(word) > 1 and word not in left_out]


def content_words(text: str, language: str = ENGLISH) -> frozenset[str]:
    """Return the content words of a text, each by its first letters, see `content_prefixes`."""
    return frozenset(content_prefixes(split_words(text, language), language))
