from itertools import combinations
from random import Random

import pytest

from sumpool.bench.measures.statistics import Regression, compare, growth_exponent, orderings, regress


def test_orderings_are_those_that_are_found_by_trying() -> None:
    for first, second in ((1, 1), (2, 3), (3, 2), (4, 5), (5, 5)):
        counts = [0] * (first * second + 1)
        for places in combinations(range(first + second), first):
            others = [place for place in range(first + second) if place not in places]
            counts[sum(other < place for place in places for other in others)] += 1
        assert orderings(first, second) == counts


def test_the_interval_leaves_out_what_the_table_of_mann_and_whitney_says() -> None:
    before, now = [1.0] * 5, [float(2**power) for power in range(5)]
    found = compare(before, now)  # five times each power, and the critical value of 5 and 5 is 2
    assert (found.estimate, found.interval) == (4.0, (1.0, 16.0))
    before = [1.0, 100.0, 1e4, 1e6, 1e8]
    quotients = sorted(new / old for old in before for new in now)
    assert compare(before, now).interval == (quotients[2], quotients[-3])


def test_what_is_twice_as_slow_is_said() -> None:
    found = compare([1.0, 1.01, 0.99, 1.02, 0.98], [2.0, 2.02, 1.98, 2.04, 1.96])
    assert found.estimate == pytest.approx(2, rel=0.01)
    assert found.changed


def test_what_overlaps_has_not_changed() -> None:
    assert not compare([1.0, 1.2, 1.4, 1.6, 1.8], [1.1, 1.3, 1.5, 1.7, 1.9]).changed


def test_few_repetitions_have_no_interval() -> None:
    for before, now, enough in ((3, 3, False), (1, 9, False), (4, 4, True), (5, 3, True)):
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


LENGTHS = [50, 100, 150, 200, 250, 300]
TERMS = [(1, length, length**2) for length in LENGTHS]


def test_coefficients_are_found() -> None:
    found = regress(TERMS, [2 + 0.01 * length + 3e-6 * length**2 for length in LENGTHS])
    assert found.coefficients == pytest.approx((2, 0.01, 3e-6), rel=1e-6)
    assert found.relative() == pytest.approx((1, 0.005, 1.5e-6), rel=1e-6)
    assert found.r_squared == pytest.approx(1)


def test_what_is_not_explained_shows() -> None:
    found = regress([(1, length) for length in LENGTHS], [1, 2, 1, 2, 1, 2])
    assert 0 < found.r_squared < 0.2


def test_without_a_fixed_part_there_is_no_proportion() -> None:
    assert Regression((-1.0, 2.0), 1.0).relative() == (None, None)


def test_there_must_be_enough_times() -> None:
    with pytest.raises(ValueError, match="no fewer than terms, got 2"):
        regress(TERMS[:2], [1, 2])


def test_exponents() -> None:
    lengths = (2048, 4096, 8192, 16384)
    for exponent in (1, 2):
        costs = [3e-9 * length**exponent for length in lengths]
        assert growth_exponent(lengths, costs) == pytest.approx(exponent)
        fixed = growth_exponent(lengths, [0.01 + cost for cost in costs])
        assert fixed is not None
        assert fixed < exponent


def test_no_growth_to_tell() -> None:
    for lengths, costs in (((1, 2), (1.0, 2.0)), ((1, 2, 2), (1, 2, 2)), ((1, 2, 3), (0, 1, 2))):
        assert growth_exponent(lengths, costs) is None


def test_a_cost_for_each_length() -> None:
    with pytest.raises(ValueError, match="costs must be as many as lengths, got 1 for 2"):
        growth_exponent((1, 2), (1.0,))
