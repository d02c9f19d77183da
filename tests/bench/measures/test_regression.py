import pytest

from sumpool.bench.measures.regression import Regression, regress

LENGTHS = [50, 100, 150, 200, 250, 300]
TERMS = [(1, length, length**2) for length in LENGTHS]


def test_coefficients_are_found() -> None:
    found = regress(TERMS, [2 + 0.01 * length + 3e-6 * length**2 for length in LENGTHS])
    assert found.coefficients == pytest.approx((2, 0.01, 3e-6), rel=1e-6)
    assert found.relative() == pytest.approx((1, 0.005, 1.5e-6), rel=1e-6)
    assert found.explained == pytest.approx(1)


def test_what_is_not_explained_shows() -> None:
    found = regress([(1, length) for length in LENGTHS], [1, 2, 1, 2, 1, 2])
    assert 0 < found.explained < 0.2


def test_without_a_fixed_part_there_is_no_proportion() -> None:
    assert Regression((-1.0, 2.0), 1.0).relative() == (None, None)


def test_there_must_be_enough_times() -> None:
    with pytest.raises(ValueError, match="no fewer than terms, got 2"):
        regress(TERMS[:2], [1, 2])
