"""No repeated n-grams, against a naive implementation, over random texts."""

import random
import re
from functools import partial

import pytest

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, LengthTarget, Ranking
from sumpool.core.decoding.constraints import (
    LengthLimits,
    NoRepeatTokens,
    NoRepeatWords,
    Rules,
    TokenSurfaces,
    after_all,
    length_limits,
)
from sumpool.special_tokens import EOS
from tests.core.decoding import random_steps
from tests.core.decoding.random_steps import PrefixState

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
# few letters, so that words recur often and in many tokenisations: tokens, bytes, across line breaks
TOKENS = [
    *SPECIAL,
    *("\n", "▁", "▁a", "▁b", "▁ab", "▁aba", "a", "b", "ab", "ba", "é"),
    *("<0x20>", "<0x61>", "<0xC3>", "<0xA9>", "▁<0xC3>"),
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


def test_constraints_are_immutable() -> None:
    tokens = [TOKENS.index(token) for token in ("▁a", "▁b", "▁")]
    (rule,) = after_all([NoRepeatWords(1, TokenSurfaces(SURFACES))], tokens)
    forbidden = rule.forbidden()
    assert rule.after(TOKENS.index("ab")).after(TOKENS.index("▁b")).forbidden() != forbidden
    assert rule.forbidden() == forbidden


def test_unicode_white_space_ends_a_word() -> None:
    no_break = "\u00a0".encode()
    vocabulary = TokenSurfaces([b"a", no_break + b" ", b" " + no_break, b" \xe2", "—".encode()])
    assert vocabulary.starts == [False, True, True, True, False]
    # only white space that no word can hold is stripped
    assert vocabulary.parts == [b"a", b"", no_break, b"\xe2", "—".encode()]


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


LIMITED = TokenSurfaces([b"", b"", b"", b"", b" a", b" B", b"c", b".", b" ", b'"', b" e.g", b" 3", b"\n"])
step = partial(random_steps.step, vocab=len(LIMITED.parts))


def text_of(tokens: tuple[int, ...]) -> str:
    surfaces = [part if not starts else b" " + part for part, starts in zip(LIMITED.parts, LIMITED.starts, strict=True)]
    return b"".join(surfaces[token] for token in tokens).decode()


def after(limits: LengthLimits, *tokens: int) -> LengthLimits:
    (extended,) = after_all([limits], tokens)
    assert isinstance(extended, LengthLimits)
    return extended


@pytest.mark.parametrize(("minimum", "maximum"), [(3, 5), (4, 4), (0, 1), (9, 11)])
def test_written_summaries_have_as_many_words_as_asked(minimum: int, maximum: int) -> None:
    documents = list(range(20))
    limits = [[LengthLimits(minimum, maximum, LIMITED, EOS)] for _ in documents]
    hypotheses = search(step, PrefixState.start(documents, 4), [Lengths(0, 60, 12)] * 20, Ranking(4), limits=limits)
    whole = 0
    for document in hypotheses:
        for hypothesis in document:
            words = text_of(hypothesis.tokens).split()
            assert minimum <= len(words) <= maximum
            assert after(limits[0][0], *hypothesis.tokens).count() == len(words)
            whole += words[-1:] != [] and words[-1].rstrip('"').endswith(".")
            if len(words) < maximum and words:
                assert words[-1].rstrip('"').endswith(".")
    assert whole > 20


def test_every_document_has_its_own_limits() -> None:
    sizes = [2, 5, 8]
    limits = [[LengthLimits(size, size, LIMITED, EOS)] for size in sizes]
    together = search(step, PrefixState.start([0, 1, 2], 2), [Lengths(0, 60)] * 3, Ranking(2), limits=limits)
    assert [len(text_of(document[0].tokens).split()) for document in together] == sizes
    for number in range(3):
        alone = search(step, PrefixState.start([number], 2), [Lengths(0, 60)], Ranking(2), limits=[limits[number]])
        assert alone == [together[number]]


def test_limits_stand_beside_other_constraints() -> None:
    rules = Rules(constraints=[NoRepeatWords(1, LIMITED)])
    limits = [[LengthLimits(3, 4, LIMITED, EOS)]]
    (hypotheses,) = search(step, PrefixState.start([3], 4), [Lengths(0, 60)], Ranking(4), rules, limits=limits)
    words = text_of(hypotheses[0].tokens).split()
    assert 3 <= len(words) <= 4
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_written_summaries_have_as_many_sentences_as_asked(count: int) -> None:
    limits = LengthLimits(count, count, LIMITED, EOS, in_sentences=True)
    (hypotheses,) = search(step, PrefixState.start([1], 4), [Lengths(0, 200, 20)], Ranking(4), limits=[[limits]])
    for hypothesis in hypotheses:
        assert after(limits, *hypothesis.tokens).count() == count


def test_sentences_end_before_a_capital() -> None:
    surfaces = TokenSurfaces([*LIMITED.parts[:4], b" aa", b" B", *[b"c", b".", b" ", b'"', b" e.g", b" 3", b"\n"]])
    cases: list[tuple[tuple[int, ...], int, bool]] = [
        ((4, 7), 1, True),
        ((4, 7, 5, 6), 1, False),
        ((4, 7, 5, 6, 7), 2, True),
        ((4, 7, 4, 7), 1, True),  # a lower-case word goes on
        ((4, 7, 11, 7), 1, True),  # so does a number
        ((4, 7, 9, 5, 6, 7, 9), 2, True),
        ((10, 7, 5), 0, False),  # e.g.
        ((5, 7, 5), 0, False),  # an initial
        ((4, 6, 7, 8, 5, 6), 1, False),  # white space of its own
        ((4, 6, 7, 12, 5, 6), 1, False),
        ((), 0, False),
    ]
    for tokens, sentences, ends in cases:
        limits = after(LengthLimits(1, 9, surfaces, EOS, in_sentences=True), *tokens)
        assert (limits.count(), limits.ends_sentence()) == (sentences, ends), tokens


def test_limits_are_met_by_whole_sentences() -> None:
    limits = LengthLimits(2, 3, LIMITED, EOS)
    assert not after(limits, 4, 6, 7).is_met()
    assert not after(limits, 4, 4, 6).is_met()
    assert after(limits, 4, 4, 6, 7).is_met()
    assert not after(limits, 4, 4, 4, 4, 6, 7).is_met()
    assert limits.forbidden() == (EOS,)
    assert after(limits, 4, 4).forbidden() == (EOS,)
    assert after(limits, 4, 4, 6, 7).forbidden() == ()
    assert set(after(limits, 4, 4, 4).forbidden()) == {4, 5, 8, 10, 11, 12}


def test_targets_tolerate_a_tenth_of_the_words() -> None:
    words, sentences = LengthTarget(60, False, 80), LengthTarget(1, True, 30)
    assert (words.minimum, words.maximum, str(words)) == (54, 66, "60 words")
    assert (sentences.minimum, sentences.maximum, str(sentences)) == (1, 1, "1 sentence")
    assert length_limits(words, LIMITED, EOS) == LengthLimits(54, 66, LIMITED, EOS)
    assert length_limits(sentences, LIMITED, EOS).in_sentences
