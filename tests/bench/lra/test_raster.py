import math

import numpy as np
import pytest

from sumpool.bench.lra.raster import dilate, grid, reduce, ring, stamps_of, translate


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


def test_samples_are_inside_their_pixels() -> None:
    assert grid(2, 1).tolist() == [-1.375, -1.125, -0.875, -0.625, -0.375, -0.125, 0.125, 0.375]
    assert reduce(np.eye(8, dtype=bool)).tolist() == [[0.25, 0.0], [0.0, 0.25]]


def test_a_ring_surrounds_the_centre() -> None:
    places, angles, near = ring(5, 1)
    assert (np.abs(np.hypot(places[:, 0] + 0.5, places[:, 1] + 0.5) - 5) < 1.5).all()
    np.testing.assert_allclose(angles, np.arctan2(places[:, 0], places[:, 1]))
    assert near.shape == (len(places), 5, 2)


def test_a_step_is_rounded_up() -> None:
    assert translate((3, 4), 0.0, 2.5) == (3, 7)
