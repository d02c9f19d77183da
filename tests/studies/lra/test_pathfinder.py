import math
import random
from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from sumpool.studies.lra import pathfinder
from sumpool.studies.lra.pathfinder import DRAWINGS, Drawing, dilate, image, images, reduce, stamps_of


def lanczos(values: np.ndarray, size: int) -> np.ndarray:
    """Reduce by a Lanczos window of three lobes as wide as a pixel of the result, in exact numbers."""
    factor = len(values) / size
    places = (np.arange(len(values)) + 0.5)[None, :] / factor - (np.arange(size) + 0.5)[:, None]
    weights = np.where(abs(places) < 3, np.sinc(places) * np.sinc(places / 3), 0)
    weights /= weights.sum(1, keepdims=True)
    return np.asarray((weights @ (values @ weights.T).clip(0, 1)).clip(0, 1))  # bytes between both axes


def test_reduction_is_a_lanczos_filter_and_dilation_equals_its_naive_twin() -> None:
    shapes = np.random.default_rng(1).random((2, 17, 17)) < 0.4
    for shape in shapes:
        for size in (9, 8):
            np.testing.assert_allclose(reduce(shape, size), lanczos(shape, size), atol=1.5 / 255)
    random = np.random.default_rng(1)
    values, kernel = random.random((7, 7)) < 0.2, random.random((3, 3)) < 0.5
    padded = np.pad(values, 1)
    expected = [[(padded[y : y + 3, x : x + 3] & kernel).any() for x in range(7)] for y in range(7)]
    np.testing.assert_array_equal(dilate(values, kernel), np.array(expected))


def test_a_dash_has_its_direction_length_and_thickness() -> None:
    for angle in (0.0, 0.3, 1.2, 2.5, -2.0):
        dash, margin = stamps_of(angle, 5, 1.5, 2)
        assert 0.8 < dash.sum() / (5 * 1.5) < 1.5  # Pillow draws both ends whole
        middle = [(np.arange(19) - 9) @ dash.sum(1 - axis) / dash.sum() for axis in (0, 1)]
        np.testing.assert_allclose(middle, [2.5 * math.sin(angle), 2.5 * math.cos(angle)], atol=0.5)
        assert (margin >= dash - 0.1).all()  # the filter overshoots
        assert margin.sum() == pytest.approx((5 + 1) * (1.5 + 4) + math.pi * 2.4**2, rel=0.25)


SMALL = replace(DRAWINGS["pathfinder32"], dashes=5, distractors=2)


def test_images_are_grey_pixels_of_the_published_size_and_those_of_their_seed() -> None:
    first, again = (list(islice(images("pathfinder32", "1", Counter()), 4)) for _ in range(2))
    assert first == again != list(islice(images("pathfinder32", "2", Counter()), 4))
    for task in DRAWINGS:
        drawing = DRAWINGS[task]
        pixels, attempts, label = image(drawing, random.Random(1))
        assert attempts >= 1
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
        pixels, _, label = image(SMALL, draw)
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
    canvas = pathfinder._Canvas(drawing, 2, random.Random(3))
    drawn = None
    while drawn is None:
        dashes.clear()
        canvas = pathfinder._Canvas(drawing, 2, canvas.draw)
        drawn = pathfinder._two_paths(canvas)
    first, second = drawn
    assert len(dashes) >= 2 * 14
    distance = np.hypot(*(np.array(first.origin) - second.origin))
    assert abs(distance - drawing.seed_distance) <= 1


def test_dashes_turn_less_with_more_continuity() -> None:
    means = []
    for continuity in (1.0, 3.0):
        canvas = pathfinder._Canvas(replace(DRAWINGS["pathx128"], continuity=continuity), 2, random.Random(1))
        heads, weights = canvas._heads((64, 64), 0.0, 8)
        turns = np.abs(np.arctan2(heads[:, 0] - 64, heads[:, 1] - 64))
        means.append((turns * weights).sum() / weights.sum())
    assert means[0] > 2 * means[1] > 0


def test_images_have_the_statistics_of_the_published_ones() -> None:
    """Share of pixels above 10, and of attempts in which two paths fit, measured with the published program."""
    draw = random.Random("1")
    drawn = [image(DRAWINGS["pathfinder32"], draw) for _ in range(120)]
    assert np.mean([(pixels > 10).mean() for pixels, *_ in drawn]) == pytest.approx(0.157, abs=0.006)
    attempts = sum(attempts for _, attempts, _ in drawn)
    assert 120 / attempts == pytest.approx(0.003, rel=0.4)  # 120 geometric draws
    assert 45 < sum(label for *_, label in drawn) < 75
