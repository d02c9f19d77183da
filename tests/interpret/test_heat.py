import pytest

from sumpool.interpret.evidence import heat_words, word_weights


def naive(text: str, tokens: list[bytes], weights: list[float]) -> list[float | None]:
    """Mean weight of the bytes of each word."""
    by_byte = [
        weight for token, weight in zip(tokens, weights, strict=True) for byte in token if not bytes([byte]).isspace()
    ]
    means: list[float | None] = []
    for start, end in heat_words(text):
        size = len(text[start:end].encode())
        word, by_byte = by_byte[:size], by_byte[size:]
        means.append(sum(word) / len(word) if word else None)
    return means


def test_words_have_the_mean_weight_of_their_bytes() -> None:
    for text, tokens in (
        ("Hosts send packets.", [b" Ho", b"sts", b" send", b" pack", b"ets", b"."]),
        ("Hosts send packets.", [b" Hosts send", b" p"]),
        ("two  words", [b" two", b" ", b"", b"words more than there are"]),
        ("标准 協議", ["标".encode(), "准 協".encode(), "議".encode()]),
        ("e\u0301t\u00e9", [b"e", b"\xcc", b"\x81t", "\u00e9".encode()]),
        ("nothing read", []),
        ("", [b" x"]),
    ):
        weights = [0.1 * number for number in range(1, len(tokens) + 1)]
        assert list(word_weights(text, tokens, weights)) == pytest.approx(naive(text, tokens, weights))


def test_long_words_are_divided() -> None:
    text = "short " + "標" * 30 + " " + "x" * 24
    words = [text[start:end] for start, end in heat_words(text)]
    assert words == ["short", "標" * 8, "標" * 8, "標" * 8, "標" * 6, "x" * 24]
