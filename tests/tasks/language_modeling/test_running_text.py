"""Running text in the manner of text8: its rules, and other languages."""

import re
import unicodedata

import pytest
from pydantic import ValidationError

from sumpool.tasks.language_modeling.running_text import ALPHABETS, RunningTextConfig, normalizer

SAMPLE = """'''Anarchism''' originated as a term of abuse [[1789]], first used
against early -- Working Class! -- radicals: é, İ, ß, ﬁ, Kelvin \u212a and \u0301, x² = 49;
\tit's  "2006".
"""


def text8(text: str) -> str:
    """Rules of wikifil.pl after the removal of markup, written with a chain of substitutions as there."""
    text = re.sub("[A-Z]", lambda match: match[0].lower(), text)
    for digit, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")):
        text = text.replace(str(digit), f" {word} ")
    return re.sub("[^a-z]+", " ", text)


def normalize(config: RunningTextConfig, text: str) -> str:
    return normalizer(config)(text)


def test_english_is_text8() -> None:
    result = normalize(RunningTextConfig(language="en"), SAMPLE)
    assert result == text8(SAMPLE).lstrip()
    assert result.endswith("it s two zero zero six ")
    assert "one seven eight nine first" in result


def test_a_text_has_letters_and_single_spaces() -> None:
    for language in ALPHABETS:
        text = unicodedata.normalize("NFD", SAMPLE + "Äiti Été Việt 한국어 ガ ﾊﾟ かな שלום Σίσυφος ёлка 42") * 2
        config = RunningTextConfig(language=language, lines=language == "fi")
        whole = normalize(config, text)
        assert {*whole} <= config.letters | {" ", "\n"}
        assert not re.search("[ \n]{2}", whole)


def test_letters_that_look_alike_become_those_of_the_alphabet() -> None:
    """A Cyrillic word of Latin looks, a Greek capital, a wide and a mathematical letter; none with another alphabet."""
    text = "\u0441\u0430\u0442 \u0396\uff41\U0001d555 \u0431"
    alike = RunningTextConfig(language="fi", homoglyphs=True, normalization="NFKC")
    assert normalize(alike, text) == "ca zad "
    assert normalize(RunningTextConfig(language="fi"), text) == ""
    russian = RunningTextConfig(language="ru", homoglyphs=True)
    assert normalize(russian, "\u0441\u0430\u0442") == "\u0441\u0430\u0442"


def test_digits_and_letters_have_those_of_the_alphabet() -> None:
    for language in ALPHABETS:
        words = ALPHABETS[language].digits.split()
        assert len(words) == len(set(words)) == 10
        assert normalize(RunningTextConfig(language=language), "70") == f"{words[7]} {words[0]} "
    for language, text, expected in [
        ("fi", "Äiti, ÖLJY; Việt!", "äiti öljy vi t "),
        ("de", "Über GROẞ Straße", "über groß straße"),
        ("vi", "Tiếng VIỆT", "tiếng việt"),
        ("el", "ΣΊΣΥΦΟΣ Σίσυφος", "σίσυφοσ σίσυφος"),
        ("he", "שָׁלוֹם, Tel 5", "ש לו ם חמש "),
        ("ru", "Ёлка и Ель 1", "ёлка и ель один "),
    ]:
        assert normalize(RunningTextConfig(language=language), text) == expected
    config = RunningTextConfig(alphabet="ab", lines=True)
    assert normalize(config, "Aa\n\n B1b c") == "aa\nb b "


def test_settings_are_checked() -> None:
    for settings, message in [
        ({"language": "xx"}, "language must be one of cs, .*, got 'xx'; set alphabet for another one"),
        ({}, "language must be set, or alphabet, got none"),
        ({"language": "fi", "alphabet": "ab"}, "alphabet must have the letters of the words for 0 to 9, got none of"),
    ]:
        with pytest.raises(ValidationError, match=message):
            RunningTextConfig.model_validate(settings)
