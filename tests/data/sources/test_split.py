from collections import Counter

from sumpool.data.sources._split import split_of


def test_shares_are_met_and_splits_are_stable() -> None:
    counts = Counter(split_of(f"document {number}", 0.1, 0.2) for number in range(10_000))
    assert abs(counts["validation"] - 1000) < 100
    assert abs(counts["test"] - 2000) < 150


def test_nothing_is_held_out_without_shares() -> None:
    assert {split_of(str(number), 0, 0) for number in range(100)} == {"train"}


def test_splits_are_the_same_everywhere() -> None:
    found = [split_of(name, 0.3, 0.3) for name in "abcdef"]
    assert found == ["test", "validation", "test", "train", "test", "test"]
