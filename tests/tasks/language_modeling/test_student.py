import math

import numpy as np
import pytest
from scipy import special, stats

from sumpool.tasks.language_modeling.student import incomplete_beta, paired_t_test, tail_probability


def test_the_test_agrees_with_scipy() -> None:
    for pairs in (2, 3, 5, 30, 4000):
        for shift in (0.0, 0.02, 0.5, 4.0):
            random = np.random.default_rng(pairs)
            first, second = random.normal(size=pairs) + shift, random.normal(size=pairs)
            expected = stats.ttest_rel(first, second)
            result = paired_t_test(first - second)
            assert result.pairs == pairs
            assert result.difference == pytest.approx((first - second).mean())
            assert result.statistic == pytest.approx(expected.statistic)
            assert result.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)


def test_the_tail_agrees_with_scipy() -> None:
    for freedom in (1, 2, 9, 1999, 100_000):
        for statistic in (1e-6, 0.3, 1.96, -8.0, 40.0):
            expected = 2 * stats.t.sf(abs(statistic), freedom)
            assert tail_probability(statistic, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-300)


def test_the_incomplete_beta_function_agrees_with_scipy() -> None:
    for first, second in ((0.5, 0.5), (3.0, 0.5), (0.5, 20.0), (1.0, 1.0)):
        for x in (0.0, 1e-9, 0.2, 0.5, 0.97, 1.0):
            assert incomplete_beta(first, second, x) == pytest.approx(special.betainc(first, second, x), rel=1e-10)


def test_equal_differences_are_certain() -> None:
    assert paired_t_test(np.array([0.5, 0.5, 0.5])).p_value == 0.0
    assert paired_t_test(np.array([-0.5, -0.5])).statistic == -math.inf
    assert paired_t_test(np.zeros(4)).p_value == 1.0


def test_one_pair_shows_nothing_and_none_is_refused() -> None:
    assert paired_t_test(np.array([3.0])).p_value == 1.0
    with pytest.raises(ValueError, match="differences must contain at least one pair, got none"):
        paired_t_test(np.array([]))
