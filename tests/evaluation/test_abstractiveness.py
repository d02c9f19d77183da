import random

import pytest

from sumpool.text.fragments import Copying, copying, repetition
from sumpool.text.language import split_words


def test_repetition_is_the_fraction_of_repeated_trigrams() -> None:
    for summary, expected in (
        ("", 0.0),
        ("one two", 0.0),
        ("a b c d e", 0.0),
        ("a b c a b c", 0.25),
        ("A b c. a B c a b c", 4 / 7),
    ):
        assert repetition(summary) == pytest.approx(expected)


def test_copying_compares_with_the_document() -> None:
    document = split_words("one two three four five six seven eight nine ten")
    reordered, leaked = copying(
        ["Two three, nine eight", "one two three four five six seven eight nine eleven"], document
    )
    assert reordered == Copying(leak=0.0, facts=0, unsupported=0)
    assert leaked.leak == pytest.approx(2 / 3)


def test_summaries_are_compared_one_by_one() -> None:
    generator = random.Random(1)
    document = generator.choices("abcdef", k=60)
    summaries = [" ".join(generator.choices("abcdefg", k=generator.randint(0, 12))) for _ in range(40)]
    assert copying(summaries, document) == [copying([summary], document)[0] for summary in summaries]


def test_another_tokenizer_decides_on_words() -> None:
    (characters,) = copying(["甲乙丙丁戊己庚辛壬"], list("甲乙丙丁戊己庚辛"), list)
    assert characters.leak == 0.5
    assert repetition("甲乙丙甲乙丙", list) == 0.25


def test_numbers_and_names_missing_in_the_document_are_unsupported() -> None:
    for summary, facts, unsupported in (
        ("Hosts send packets. Gateways drop them.", 0, 0),  # capitals of sentences say nothing
        ("The TCP of RFC 793 and IPv6, in Boston", 5, 1),
        ("TLS 1.3 and tls 1.2", 5, 1),
        ("(MIKEY) is by Cisco Systems", 3, 2),
        ("of 3_TLS and 4_TLS", 2, 1),  # identifiers of several words
        ("", 0, 0),
    ):
        (result,) = copying([summary], split_words("TCP is what RFC 793 says. In Boston TLS 1.3 is by MIKEY; 1 is 3"))
        assert (result.facts, result.unsupported) == (facts, unsupported)
