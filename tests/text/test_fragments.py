import random

import pytest

from sumpool.text.fragments import Copying, copying, overlap, repetition
from sumpool.text.language import split_words


def naive_runs(document: str, summary: str) -> list[int]:
    """Longest run that ends at each letter, by looking for every one."""
    runs = []
    for end in range(1, len(summary) + 1):
        runs.append(max(size for size in range(end + 1) if summary[end - size : end] in document))
    return runs


def naive_fragments(document: str, summary: str) -> list[int]:
    """Grusky et al.'s greedy procedure, letter by letter."""
    fragments = []
    start = 0
    while start < len(summary):
        size = max(size for size in range(len(summary) - start + 1) if summary[start : start + size] in document)
        if size:
            fragments.append(size)
        start += max(size, 1)
    return fragments


def test_equals_the_naive_search_on_random_texts() -> None:
    draw = random.Random(1)
    for _ in range(400):
        document = "".join(draw.choices("abc", k=draw.randrange(0, 30)))
        summary = "".join(draw.choices("abcd", k=draw.randrange(0, 15)))
        shared = overlap(document, summary)
        assert list(shared.runs) == naive_runs(document, summary), (document, summary)
        assert shared.fragments == naive_fragments(document, summary), (document, summary)


def test_measures_of_known_pairs() -> None:
    shared = overlap("abcdef", "abcxefyy")
    assert shared.fragments == [3, 2]
    assert shared.coverage == pytest.approx(5 / 8)
    assert shared.density == pytest.approx((9 + 4) / 8)
    shared = overlap("abcd", "abdab")
    assert [shared.novel_ngrams(size) for size in (1, 2, 3, 6)] == [0, 0.5, 1, 0]  # "b d" and "d a" are new
    assert shared.shared_ngrams(2) == pytest.approx(2 / 4)
    assert shared.leak == 0


def test_repetitive_texts_are_compared() -> None:
    """Pairs of positions one by one would be minutes."""
    for letters in ("a", "ab", "abcdefghij"):
        document, summary = (list(letters * (size // len(letters))) for size in (20_000, 2_000))
        assert overlap(document, summary).fragments == [len(summary)]


def test_repetition_is_the_fraction_of_repeated_trigrams() -> None:
    for summary, expected in (
        ("", 0.0),
        ("one two", 0.0),
        ("a b c a d c", 0.0),
        ("a b c a b c", 0.25),
        ("A b c. a B c a b c", 4 / 7),
    ):
        assert repetition(summary) == pytest.approx(expected)
    assert repetition("甲乙丙甲乙丙", list) == 0.25  # by another tokenizer


def test_copying_compares_with_the_document() -> None:
    document = split_words("one two three four five six seven eight nine ten")
    reordered, leaked = copying(
        ["Two three, nine eight", "one two three four five six seven eight nine eleven"], document
    )
    assert reordered == Copying(leak=0.0, facts=0, unsupported=0)
    assert leaked.leak == pytest.approx(2 / 3)
    (characters,) = copying(["甲乙丙丁戊己庚辛壬"], list("甲乙丙丁戊己庚辛"), list)
    assert characters.leak == 0.5


def test_summaries_are_compared_one_by_one() -> None:
    generator = random.Random(1)
    document = generator.choices("abcdef", k=60)
    summaries = [" ".join(generator.choices("abcdefg", k=generator.randint(0, 12))) for _ in range(40)]
    assert copying(summaries, document) == [copying([summary], document)[0] for summary in summaries]


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
    assert copying(["of TCP"], ["tcp"])[0].unsupported == 0
