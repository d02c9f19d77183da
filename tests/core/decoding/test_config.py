import re

import pytest
from pydantic import ValidationError

from sumpool.core.decoding.config import DecodingConfig, LengthUnit, SummaryLength, parse_length

LENGTHS: dict[str, tuple[float, LengthUnit]] = {
    "auto": (1, "usual"),
    "short": (0.5, "usual"),
    "medium": (1, "usual"),
    "long": (2, "usual"),
    "150w": (150, "words"),
    "5s": (5, "sentences"),
    "10%": (0.1, "share"),
    "0.5%": (0.005, "share"),
    "100%": (1, "share"),
}


def test_lengths_have_units() -> None:
    for text, (amount, unit) in LENGTHS.items():
        assert parse_length(text) == SummaryLength(amount, unit), text
        assert DecodingConfig(length=text).length == text


def test_lengths_resolve_to_words_or_sentences() -> None:
    resolved = {"150w": 150, "5s": 5, "10%": 200, "0.01%": 1, "long": 120, "short": 30}
    for text, amount in resolved.items():
        assert parse_length(text).resolve(document_words=2000, usual_words=60) == amount, text


@pytest.mark.parametrize("text", ["", "150", "0w", "1.5w", "101%", "-5w", "5 s", "tiny", "\u0665w"])
def test_other_lengths_are_errors(text: str) -> None:
    message = (
        "must be auto, short, medium, long, or like 150w (words), 5s (sentences) or 10% (of the document's words), "
        f"got {text!r}"
    )
    with pytest.raises(ValidationError, match=re.escape(message)):
        DecodingConfig(length=text)


def test_a_minimum_above_the_maximum_is_an_error() -> None:
    with pytest.raises(ValidationError, match="min_length must be at most max_length = 4, got 5"):
        DecodingConfig(min_length=5, max_length=4)
    assert DecodingConfig(max_length=4).min_length == "auto"
