import math
import random
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from sumpool.studies.lra import pathfinder
from sumpool.studies.lra.pathfinder import (
    DRAWINGS,
    Drawing,
    dilate,
    image,
    images,
    stamps_of,
    statistics,
)


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


SMALL = replace(DRAWINGS["pathfinder32"], dashes=5, distractors=2)


def test_equal_seeds_give_equal_images() -> None:
    first, again = (list(islice(images("pathfinder32", "1"), 4)) for _ in range(2))
    assert first == again != list(islice(images("pathfinder32", "2"), 4))


def test_images_are_grey_pixels_of_the_published_size() -> None:
    for task in DRAWINGS:
        drawing = DRAWINGS[task]
        pixels, label = image(drawing, random.Random(1))
        assert pixels.shape == (drawing.size, drawing.size)
        assert pixels.dtype == np.uint8
        assert pixels.max() == 255
        assert label in (0, 1)
        assert 0.02 < (pixels > 0).mean() < 0.4


def test_the_label_says_whether_the_markers_are_ends_of_one_path(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[list[pathfinder._Path]] = []
    markers: list[tuple[int, int]] = []
    draw_paths, draw_marker = pathfinder._two_paths, pathfinder._Canvas.mark

    def two_paths(canvas: pathfinder._Canvas) -> list[pathfinder._Path] | None:
        drawn = draw_paths(canvas)
        paths.extend([drawn] if drawn else [])
        return drawn

    def mark(canvas: pathfinder._Canvas, centre: tuple[int, int]) -> None:
        markers.append(centre)
        draw_marker(canvas, centre)

    monkeypatch.setattr(pathfinder, "_two_paths", two_paths)
    monkeypatch.setattr(pathfinder._Canvas, "mark", mark)
    draw = random.Random(1)
    labels = []
    for number in range(40):
        pixels, label = image(SMALL, draw)
        origin, end = markers[2 * number :]
        connected = any((path.origin, path.end) == (origin, end) for path in paths[number])
        assert connected == bool(label)
        assert all(pixels[place] > 80 for place in (origin, end))
        labels.append(label)
    assert 10 < sum(labels) < 30


def test_paths_have_the_published_dashes_at_a_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    dashes: list[tuple[int, int]] = []
    draw_dash = pathfinder._Canvas.dash

    def dash(canvas: pathfinder._Canvas, start: tuple[int, int], orientation: float) -> object:
        dashes.append(start)
        return draw_dash(canvas, start, orientation)

    monkeypatch.setattr(pathfinder._Canvas, "dash", dash)
    drawing: Drawing = replace(DRAWINGS["pathx128"], distractors=0)
    canvas = pathfinder._Canvas(drawing, random.Random(3))
    drawn = None
    while drawn is None:
        dashes.clear()
        canvas = pathfinder._Canvas(drawing, canvas.draw)
        drawn = pathfinder._two_paths(canvas)
    first, second = drawn
    assert len(dashes) >= 2 * 14
    distance = np.hypot(*(np.array(first.origin) - second.origin))
    assert abs(distance - drawing.seed_distance) <= 1


def test_dashes_turn_less_with_more_continuity() -> None:
    means = []
    for continuity in (1.0, 3.0):
        canvas = pathfinder._Canvas(replace(DRAWINGS["pathx128"], continuity=continuity), random.Random(1))
        heads, weights = canvas._heads((64, 64), 0.0, 8)
        turns = np.abs(np.arctan2(heads[:, 0] - 64, heads[:, 1] - 64))
        means.append((turns * weights).sum() / weights.sum())
    assert means[0] > 2 * means[1] > 0


def test_statistics_stand_beside_the_published_ones() -> None:
    rows = list(islice(images("pathfinder32", "1"), 10))
    described = statistics("pathfinder32", rows)
    assert described["pixels"] == described["published"]["pixels"] == 1024
    assert described["connected"] == sum(label for _, label in rows) / 10
    assert 0.1 < described["share of pixels drawn"] < 0.3
