from itertools import combinations
from random import Random

import pytest

from sumpool.bench.measures.ranks import compare, orderings


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (3, 2), (4, 5), (5, 5)])
def test_orderings_are_those_that_are_found_by_trying(first: int, second: int) -> None:
    counts = [0] * (first * second + 1)
    for places in combinations(range(first + second), first):
        others = [place for place in range(first + second) if place not in places]
        counts[sum(other < place for place in places for other in others)] += 1
    assert orderings(first, second) == counts


def test_the_interval_leaves_out_what_the_table_of_mann_and_whitney_says() -> None:
    before, now = [1.0] * 5, [float(2**power) for power in range(5)]
    found = compare(before, now)  # five times each power, and the critical value of 5 and 5 is 2
    assert (found.middle, found.interval) == (4.0, (1.0, 16.0))
    before = [1.0, 100.0, 1e4, 1e6, 1e8]
    quotients = sorted(new / old for old in before for new in now)
    assert compare(before, now).interval == (quotients[2], quotients[-3])


def test_what_is_twice_as_slow_is_said() -> None:
    found = compare([1.0, 1.01, 0.99, 1.02, 0.98], [2.0, 2.02, 1.98, 2.04, 1.96])
    assert found.middle == pytest.approx(2, rel=0.01)
    assert found.changed


def test_what_overlaps_has_not_changed() -> None:
    assert not compare([1.0, 1.2, 1.4, 1.6, 1.8], [1.1, 1.3, 1.5, 1.7, 1.9]).changed


@pytest.mark.parametrize(("before", "now", "enough"), [(3, 3, False), (1, 9, False), (4, 4, True), (5, 3, True)])
def test_few_repetitions_have_no_interval(before: int, now: int, enough: bool) -> None:
    found = compare([1.0] * before, [9.0] * now)
    assert (found.interval is not None) is enough
    assert found.changed is enough


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = Random(1)
    held = 0
    for _ in range(1000):
        before, now = ([random.lognormvariate(0, 0.3) for _ in range(5)] for _ in range(2))
        held += not compare(before, now).changed
    assert 0.95 < held / 1000 < 0.99  # five and five repetitions: 96.8 % exactly
