import math

import numpy as np
import pytest

from sumpool.bench.lra.raster import dilate, stamps_of


def test_a_horizontal_dash_covers_its_pixels() -> None:
    dash, margin = stamps_of(0.0, 3, 1.0, 1)
    assert dash.shape == margin.shape == (11, 11)
    np.testing.assert_allclose(dash[5, 5:9], [1, 1, 1, 1], atol=0.3)
    assert dash[5, :4].max() == dash[3].max() == 0
    assert (margin >= dash).all()
    assert margin[4, 6] == margin[6, 6] == 1


def test_opposite_dashes_are_mirror_images() -> None:
    for angle in (0.3, 1.2, 2.5):
        dash, _ = stamps_of(angle, 5, 1.5, 2)
        opposite, _ = stamps_of(angle + math.pi, 5, 1.5, 2)
        np.testing.assert_allclose(dash, opposite[::-1, ::-1], atol=0.13)
        assert dash.sum() == pytest.approx(5 * 1.5 + math.pi * 0.75**2, rel=0.1)


def test_dilation_equals_its_naive_twin() -> None:
    random = np.random.default_rng(1)
    values, kernel = random.random((7, 7)) < 0.2, random.random((3, 3)) < 0.5
    padded = np.pad(values, 1)
    expected = [[(padded[y : y + 3, x : x + 3] & kernel).any() for x in range(7)] for y in range(7)]
    np.testing.assert_array_equal(dilate(values, kernel), np.array(expected) | values)
