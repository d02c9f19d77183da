"""No repeated n-grams, against a naive implementation, over random texts."""

import random
import re

import pytest

from sumpool.core.decoding.constraints import NoRepeatTokens, NoRepeatWords, TokenSurfaces

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
# few letters, so that words recur often and in many tokenisations: tokens, bytes, across line breaks
TOKENS = [
    *SPECIAL,
    "\n",
    "▁",
    "▁a",
    "▁b",
    "▁ab",
    "▁aba",
    "a",
    "b",
    "ab",
    "ba",
    "é",
    "<0x20>",
    "<0x61>",
    "<0xC3>",
    "<0xA9>",
    "▁<0xC3>",
]


def surface(token: int) -> bytes:
    """Text of a token; "▁" is a space and <0x41> a byte, which may be part of a character."""
    plain = TOKENS[token].replace("▁", " ").encode()
    return re.sub(rb"<0x(..)>", lambda match: bytes.fromhex(match[1].decode()), plain)


SURFACES = [b"" if token < len(SPECIAL) else surface(token) for token in range(len(TOKENS))]


def text(tokens: list[int]) -> bytes:
    return b"".join(map(surface, tokens))


def ends_in_a_repeated_ngram(words: list[bytes], length: int) -> bool:
    ngrams = [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]
    return bool(ngrams) and ngrams[-1] in ngrams[:-1]


def naively_forbidden(tokens: list[int], length: int) -> set[int]:
    """Every token with which the text would newly end in a word n-gram that occurs already."""
    before = text(tokens).split()
    after = {token: text([*tokens, token]).split() for token in range(len(SPECIAL), len(TOKENS))}
    return {token for token, words in after.items() if words != before and ends_in_a_repeated_ngram(words, length)}


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_forbids_exactly_what_the_naive_implementation_forbids(length: int) -> None:
    choice = random.Random(length)
    vocabulary = TokenSurfaces(SURFACES)
    forbidden_count = 0
    for _ in range(20):
        tokens: list[int] = []
        weights = [choice.random() ** 8 for _ in TOKENS]  # few tokens dominate each text, so that n-grams recur
        rule = NoRepeatWords(length, vocabulary)
        while len(tokens) < 40:
            expected = naively_forbidden(tokens, length)
            assert set(rule.forbidden()) == expected, text(tokens)
            forbidden_count += len(expected)
            allowed = [token for token in range(len(SPECIAL), len(TOKENS)) if token not in expected]
            tokens += choice.choices(allowed, [weights[token] for token in allowed])
            rule = rule.after(tokens[-1])
        words = text(tokens).split()
        ngrams = [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]
        assert len(set(ngrams)) == len(ngrams)
    assert forbidden_count > 50


def extend(rule: NoRepeatWords, tokens: str) -> NoRepeatWords:
    for token in tokens.split():
        rule = rule.after(TOKENS.index(token))
    return rule


def test_words_are_recognised_in_every_tokenisation() -> None:
    rule = extend(NoRepeatWords(1, TokenSurfaces(SURFACES)), "▁ab ▁b ▁a")
    assert {TOKENS[token] for token in rule.forbidden()} == {"▁a", "▁b", "▁ab", "b"}


def test_eos_is_never_forbidden() -> None:
    rule = extend(NoRepeatWords(1, TokenSurfaces([*SURFACES, b"</s>"])), "▁a ▁b")
    assert SPECIAL.index("</s>") not in rule.forbidden()


def test_a_word_may_extend_an_earlier_one() -> None:
    rule = extend(NoRepeatWords(1, TokenSurfaces(SURFACES)), "▁a ▁ab")
    assert TOKENS.index("a") not in rule.forbidden()  # "aba" is another word


def test_constraints_are_immutable() -> None:
    rule = extend(NoRepeatWords(1, TokenSurfaces(SURFACES)), "▁a ▁b ▁")
    forbidden = rule.forbidden()
    assert rule.after(TOKENS.index("ab")).after(TOKENS.index("▁b")).forbidden() != forbidden
    assert rule.forbidden() == forbidden


def test_unicode_white_space_ends_a_word() -> None:
    no_break = "\u00a0".encode()
    vocabulary = TokenSurfaces([b"a", no_break + b" ", b" " + no_break, b" \xe2", "—".encode()])
    assert vocabulary.starts == [False, True, True, True, False]
    assert vocabulary.parts == [
        b"a",
        b"",
        no_break,
        b"\xe2",
        "—".encode(),
    ]  # only white space that no word can hold is stripped


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_repeated_ngrams_of_tokens_are_forbidden(length: int) -> None:
    choice = random.Random(length)
    for _ in range(20):
        tokens: list[int] = []
        rule = NoRepeatTokens(length)
        for _ in range(40):
            ngrams = [tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]
            context = tuple(tokens[len(tokens) - length + 1 :]) if len(tokens) >= length - 1 else None
            expected = {ngram[-1] for ngram in ngrams if ngram[:-1] == context}
            assert len(rule.forbidden()) == len(expected)
            assert set(rule.forbidden()) == expected
            tokens.append(choice.randrange(4, 4 + 2 * length))  # forbidden ones too, as prefixes may be
            rule = rule.after(tokens[-1])


def test_white_space_after_a_word_is_refused() -> None:
    for token in (b" of the", b"of ", b"a\n"):
        with pytest.raises(ValueError, match="surfaces must hold white space before a word only, got"):
            TokenSurfaces([b"", token])
