import pytest

from sumpool.bench.measures.growth import fit

LENGTHS = (2048, 4096, 8192, 16384)


def test_a_straight_line() -> None:
    growth = fit(LENGTHS, [3e-6 * length for length in LENGTHS])
    assert growth is not None
    assert growth.exponent == pytest.approx(1.0)
    assert growth.straightness == pytest.approx(1.0)


def test_a_fixed_part_keeps_the_line_straight() -> None:
    growth = fit(LENGTHS, [0.01 + 3e-6 * length for length in LENGTHS])
    assert growth is not None
    assert growth.exponent < 0.9
    assert growth.straightness == pytest.approx(1.0)


def test_a_square() -> None:
    growth = fit(LENGTHS, [3e-9 * length**2 for length in LENGTHS])
    assert growth is not None
    assert growth.exponent == pytest.approx(2.0)
    assert growth.straightness < 0.99


@pytest.mark.parametrize(("lengths", "costs"), [((1, 2), (1.0, 2.0)), ((1, 2, 2), (1, 2, 2)), ((1, 2, 3), (0, 1, 2))])
def test_no_growth_to_tell(lengths: tuple[int, ...], costs: tuple[float, ...]) -> None:
    assert fit(lengths, costs) is None


def test_a_cost_for_each_length() -> None:
    with pytest.raises(ValueError, match="costs must be as many as lengths, got 1 for 2"):
        fit((1, 2), (1.0,))
