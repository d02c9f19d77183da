"""Alphabets: what the table of languages holds."""

import pytest

from sumpool.text.alphabets import ALPHABETS, letters_of

pytestmark = pytest.mark.slow


def test_letters_are_lower_case_and_occur_once() -> None:
    for alphabet in ALPHABETS.values():
        assert alphabet.letters == alphabet.letters.lower()
        assert len(set(alphabet.letters)) == len(alphabet.letters)


def test_letters_of_a_language_belong_to_its_script() -> None:
    for language, script in (("ru", "cyrillic"), ("el", "greek"), ("he", "hebrew"), ("vi", "latin"), ("fi", "latin")):
        assert set(ALPHABETS[language].letters) <= letters_of(script)
    assert "한" in letters_of("hangul")
