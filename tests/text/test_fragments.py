import random

import pytest

from sumpool.text.fragments import overlap


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


def test_coverage_and_density_of_a_known_pair() -> None:
    shared = overlap("abcdef", "abcxefyy")
    assert shared.fragments == [3, 2]
    assert shared.coverage == pytest.approx(5 / 8)
    assert shared.density == pytest.approx((9 + 4) / 8)


def test_novel_and_shared_ngrams() -> None:
    shared = overlap("abcd", "abdab")
    assert shared.novel_ngrams(1) == 0
    assert shared.novel_ngrams(2) == pytest.approx(2 / 4)  # "b d" and "d a"
    assert shared.shared_ngrams(2) == pytest.approx(2 / 4)
    assert shared.novel_ngrams(3) == 1
    assert shared.novel_ngrams(6) == 0
    assert shared.leak == 0


def test_leak_is_the_fraction_of_shared_8_grams() -> None:
    document = [str(number) for number in range(20)]
    assert overlap(document, document[3:12]).leak == 1
    assert overlap(document, [*document[3:11], "new"]).leak == pytest.approx(1 / 2)


def test_an_empty_summary_shares_nothing() -> None:
    shared = overlap(["a"], [])
    assert (shared.coverage, shared.density, shared.leak, shared.novel_ngrams(1)) == (0, 0, 0, 0)


def test_repetitive_texts_are_compared() -> None:
    """Quadratic time would be minutes."""
    for letters in ("a", "ab", "abcdefghij"):
        document, summary = (list(letters * (size // len(letters))) for size in (160_000, 16_000))
        assert overlap(document, summary).fragments == [len(summary)]
