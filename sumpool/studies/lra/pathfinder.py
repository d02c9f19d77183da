"""Pathfinder: whether two markers are ends of one dashed path (Linsley et al., 2018; Tay et al., 2021, "hard").

The published drawing procedure, with the sizes of the Long Range Arena. Two paths of 14 dashes begin near the centre,
at a fixed distance from each other, and grow by turns: the next dash turns by an angle with probability in proportion
to cos(continuity * angle)^2, keeps a margin to everything drawn, and is drawn at most three times. Attempts in which a
path cannot go on are given up. Short paths are added as distractors. One marker is at the beginning of a path, the
other at the end of the same path (label 1) or of the other.

Dashes, margins and markers are drawn by Pillow at twice the resolution and reduced as by SciPy's old `imresize`: in
bytes, with Pillow's Lanczos filter. The published program draws with the generator of NumPy, so that its images are
others of the same distribution.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

Pixel = tuple[int, int]
"""Row and column of a pixel."""
SCALE = 2
"""Factor of the resolution at which shapes are drawn."""
_DASH_TRIALS, _PATH_TRIALS = 3, 5
"""Attempts at a dash and at a distractor."""
_BLOCKED = 0.3
"""Share of a pixel within the margin of a dash above which no path begins there."""
_OVERLAP = 1.8
"""Sum of two margins in a pixel at which dashes collide."""
_FULL = 0.01
"""Share of free pixels below which no further path is drawn."""
_BRIGHT = 10
"""Grey value above which pixels are counted."""

Window = tuple[slice, slice]


@lru_cache(maxsize=64)
def ring(radius: int, space: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels on a circle, (places, 2), their angles, and all pixels near them, (places, offsets, 2)."""
    angles = np.arange(0, 2 * math.pi, 1 / radius)
    steps = np.unique(np.floor(radius * np.stack([np.sin(angles), np.cos(angles)], 1)).astype(int), axis=0)
    offsets = np.argwhere(disc(space)) - space
    return steps, np.arctan2(steps[:, 0], steps[:, 1]), steps[:, None] + offsets


def disc(radius: float, centre: Pixel | None = None, size: int = 0) -> np.ndarray:
    """Return which pixels of a square are within a radius of a pixel; by default the least square around a disc."""
    size = size or 2 * int(radius) + 1
    row, column = centre or (size // 2, size // 2)
    places = np.arange(size)
    squares: np.ndarray = (places[:, None] - row) ** 2 + (places - column) ** 2
    return squares <= radius**2


@lru_cache(maxsize=8192)
def stamps_of(orientation: float, length: int, thickness: float, margin: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a dash from the centre of a square in a direction, and its margin, from 0 to 1."""
    from PIL import Image, ImageDraw

    half = length + math.ceil(thickness) + margin
    centre = (half * SCALE, half * SCALE)
    head = translate(centre, orientation, length * SCALE)
    canvas = Image.new("L", (2 * half * SCALE + 1,) * 2)
    ImageDraw.Draw(canvas).line([centre, head[::-1]], fill=1, width=round(thickness * SCALE))
    dash = np.array(canvas, bool)
    return reduce(dash, 2 * half + 1), reduce(dilate(dash, disc(margin * SCALE)), 2 * half + 1)


def reduce(shape: np.ndarray, size: int) -> np.ndarray:
    """Reduce an image of 0 and 1 to (size, size) by the Lanczos filter, in 255 steps."""
    from PIL import Image

    image = Image.fromarray(255 * shape.astype(np.uint8))
    return np.asarray(image.resize((size, size), Image.Resampling.LANCZOS)) / 255


def dilate(values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return where any value under the kernel is True; nothing lies beyond the edges."""
    padded, size = np.pad(values, len(kernel) // 2), len(values)
    dilated = np.zeros_like(values)
    for y, x in np.argwhere(kernel).tolist():
        dilated |= padded[y : y + size, x : x + size]
    return dilated


def translate(start: Pixel, orientation: float, distance: float) -> Pixel:
    """Return the pixel at a distance in a direction, rounded up."""
    return (
        math.ceil(start[0] + distance * math.sin(orientation)),
        math.ceil(start[1] + distance * math.cos(orientation)),
    )


@dataclass(frozen=True)
class Drawing:
    """Sizes of the images of a task, in pixels.

    Attributes:
        size: Height and width.
        margins: Distances between dashes, of which an image has one.
        length: Length of a dash.
        thickness: Thickness of a dash.
        seed_distance: Distance between the beginnings of the two paths.
        continuity: Factor of the angle between dashes.
        marker: Radius of a marker.
        distractors: Number of short paths.
        brightness: Brightness of the dashes of the two paths and of distractors, before scaling.
        dashes: Dashes of each of the two paths.
        short: Dashes of a distractor.
    """

    size: int
    margins: tuple[int, ...]
    length: int
    thickness: float
    seed_distance: int
    continuity: float
    marker: float
    distractors: int
    brightness: tuple[float, float]
    dashes: int = 14
    short: int = 4


DRAWINGS: Mapping[str, Drawing] = {
    "pathfinder32": Drawing(32, (1,), 2, 0.5, 7, 1.0, 1.5, 5, (1.5, 2.0)),
    "pathx128": Drawing(128, (2, 3), 5, 1.5, 20, 1.8, 3.0, 8, (0.9, 0.9)),
}


@dataclass
class _Path:
    """A path that grows: the pivot before its last dash, its orientation, position and margin, and both ends."""

    pivot: Pixel
    orientation: float
    window: Window
    margin: np.ndarray
    origin: Pixel
    end: Pixel


_FREE: dict[tuple[Drawing, int, float, int], np.ndarray] = {}
"""Places of `_Canvas._free` in the empty image, where most attempts end soon."""


class _Canvas:
    """Image of one sample, and the margins around what is drawn."""

    def __init__(self, drawing: Drawing, space: int, draw: random.Random) -> None:
        self.drawing, self.space, self.draw = drawing, space, draw
        self.image = np.zeros((drawing.size, drawing.size))
        self.taken = np.zeros_like(self.image)
        for edge in (0, -1):
            self.taken[edge, :] = self.taken[:, edge] = 1

    def dash(self, start: Pixel, orientation: float) -> tuple[Window, np.ndarray, np.ndarray]:
        """Return the window of a dash in the image, and the dash and its margin there."""
        stamps = stamps_of(orientation, self.drawing.length, self.drawing.thickness, self.space)
        half, size = len(stamps[0]) // 2, self.drawing.size
        lows = [max(0, pixel - half) for pixel in start]
        highs = [min(size, pixel + half + 1) for pixel in start]
        rows, columns = (slice(low, high) for low, high in zip(lows, highs, strict=True))
        parts = [slice(low - at + half, high - at + half) for low, high, at in zip(lows, highs, start, strict=True)]
        dash, margin = (stamp[parts[0], parts[1]] for stamp in stamps)
        return (rows, columns), dash, margin

    def close(self, path: _Path) -> None:
        """Keep other dashes away from the last dash of a path."""
        self.taken[path.window] = np.maximum(self.taken[path.window], path.margin)

    def begin(self, border: int, brightness: float) -> _Path | None:
        """Begin a path at a random free pixel, with a free border around the image; None if there is none."""
        for _ in range(_DASH_TRIALS):
            orientation = math.radians(self.draw.randrange(-180, 180))
            free = self._free(orientation, border)
            if not len(free):
                return None
            y, x = free[self.draw.randrange(len(free))].tolist()
            path = self.begin_at((y, x), orientation, brightness)
            if path:
                return path
        return None

    def _free(self, orientation: float, border: int) -> np.ndarray:
        """Return the places, (places, 2), from which a dash would touch no margin; the empty image has always the same.

        The margin of the published program is shifted by one pixel along both axes here, and cut at the square around
        a dash of no thickness; only pixels that are wholly within it count. A pixel at an edge whose margin lies beyond
        it makes the program take the image for full, so that its first dashes go up and left.
        """
        drawing = self.drawing
        key = (drawing, self.space, orientation, border)
        empty = not self.taken[1:-1, 1:-1].any()
        if empty and key in _FREE:
            return _FREE[key]
        _, margin = stamps_of(orientation, drawing.length, drawing.thickness, self.space)
        first, side = math.ceil(drawing.thickness) - 1, 2 * (drawing.length + self.space) + 1
        kernel = margin[first : first + side, first : first + side] >= 1
        blocked = self.taken > _BLOCKED
        if (~blocked).mean() < _FULL or not dilate(np.ones_like(blocked), kernel).all():
            blocked[:] = True
        else:
            blocked[:border, :] = blocked[-border:, :] = True
            blocked[:, :border] = blocked[:, -border:] = True
            blocked = dilate(blocked, kernel)
        free = np.argwhere(~blocked)
        if empty:
            _FREE[key] = free
        return free

    def begin_at(self, origin: Pixel, orientation: float, brightness: float) -> _Path | None:
        """Begin a path at a pixel; None if its first dash leaves the image."""
        head = translate(origin, orientation, self.drawing.length)
        pivot = translate(head, orientation, -(self.drawing.length + self.space))
        if not (self._is_inside(head) and self._is_inside(pivot)):
            return None
        window, dash, margin = self.dash(origin, orientation)
        self.image[window] = np.maximum(self.image[window], dash * brightness)
        return _Path(pivot, orientation, window, margin, origin, head)

    def extend(self, path: _Path, brightness: float) -> bool:
        """Add a dash to a path; return False where it cannot go on."""
        length = self.drawing.length
        pivot = translate(path.pivot, path.orientation, length + 2 * self.space)
        heads, weights = self._heads(pivot, path.orientation, length + self.space)
        if weights.sum() < 1e-4:
            return False
        chances = np.cumsum(weights / weights.sum())
        for _ in range(_DASH_TRIALS):
            y, x = heads[min(int(np.searchsorted(chances, self.draw.random(), "right")), len(heads) - 1)].tolist()
            orientation = math.atan2(y - pivot[0], x - pivot[1])
            window, dash, margin = self.dash((y, x), orientation + (math.pi if orientation < 0 else -math.pi))
            if (self.taken[window] + margin).max() < _OVERLAP:
                self.image[window] = np.maximum(self.image[window], dash * brightness)
                self.close(path)
                path.pivot, path.orientation, path.end = pivot, orientation, (y, x)
                path.window, path.margin = window, margin
                return True
        return False

    def add_distractor(self) -> None:
        """Add a short path, if there is room for one."""
        for _ in range(_PATH_TRIALS):
            before = self.image.copy(), self.taken.copy()
            path = self.begin(1, self.drawing.brightness[1])
            if path and all(self.extend(path, self.drawing.brightness[1]) for _ in range(self.drawing.short - 1)):
                self.close(path)
                return
            self.image, self.taken = before

    def mark(self, centre: Pixel) -> None:
        """Draw a marker."""
        size, scaled = self.drawing.size, (centre[0] * SCALE, centre[1] * SCALE)
        shape = disc(self.drawing.marker * SCALE, scaled, size * SCALE)
        self.image = np.maximum(self.image, reduce(shape, size))

    def _heads(self, pivot: Pixel, orientation: float, radius: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pixels around a pivot, (places, 2), and their weights, (places,)."""
        steps, angles, near = ring(radius, self.space)
        heads = steps + pivot
        inside = ((heads >= 0) & (heads < self.drawing.size)).all(1)
        turns = np.abs(angles[inside] - orientation)
        turns = np.minimum(turns, np.abs(2 * math.pi - turns)) * self.drawing.continuity
        around = (near[inside] + pivot).clip(0, self.drawing.size - 1)  # (places, offsets, 2)
        taken = self.taken[around[..., 0], around[..., 1]].max(1, initial=0)
        return heads[inside], np.cos(np.minimum(turns, math.pi / 2)) ** 2 * (1 - taken)

    def _is_inside(self, pixel: Pixel) -> bool:
        return all(0 <= coordinate < self.drawing.size for coordinate in pixel)


def images(task: str, seed: str, drawn: Counter[str]) -> Iterator[tuple[str, int]]:
    """Draw images without end, as texts of pixels from 0 to 255 with their labels; equal seeds give equal images.

    Args:
        task: `pathfinder32` or `pathx128`.
        seed: Seed of the images.
        drawn: Numbers of images, attempts, pixels and bright pixels so far, which are added to.
    """
    draw = random.Random(seed)
    while True:
        pixels, attempts, label = image(DRAWINGS[task], draw)
        drawn.update(images=1, attempts=attempts, pixels=pixels.size, bright=int((pixels > _BRIGHT).sum()))
        yield " ".join(map(str, pixels.ravel().tolist())), label


def describe(task: str, drawn: Mapping[str, int]) -> str:
    """Say how the images compare with the published images and program, of which pathfinder32 was measured."""
    published = (" (published 15.7)", " (.3)") if task == "pathfinder32" else ("", "")
    return (
        f"{100 * drawn['bright'] / drawn['pixels']:.1f} % of the pixels are above {_BRIGHT}{published[0]}, "
        f"two paths fit in {100 * drawn['images'] / drawn['attempts']:.2g} % of attempts{published[1]}"
    )


def image(drawing: Drawing, draw: random.Random) -> tuple[np.ndarray, int, int]:
    """Draw an image (size, size) of bytes, with the attempts and its label: 1 if the markers are ends of one path."""
    label, space = draw.randrange(2), draw.choice(drawing.margins)
    paths, attempts = None, 0
    while not paths:
        attempts += 1
        canvas = _Canvas(drawing, space, draw)
        paths = _two_paths(canvas)
    for _ in range(drawing.distractors):
        canvas.add_distractor()
    marked = draw.randrange(2)
    canvas.mark(paths[marked].origin)
    canvas.mark(paths[marked if label else 1 - marked].end)
    return np.round(255 * canvas.image / canvas.image.max()).astype(np.uint8), attempts, label


def _two_paths(canvas: _Canvas) -> list[_Path] | None:
    """Draw the two paths by turns; None where one cannot go on."""
    drawing, brightness = canvas.drawing, canvas.drawing.brightness[0]
    first = canvas.begin(2 * drawing.seed_distance, brightness)
    second = None
    for _ in range(_DASH_TRIALS if first else 0):
        assert first
        orientation, angle = (math.radians(canvas.draw.randrange(360)) for _ in range(2))
        y, x = (
            first.origin[axis] + drawing.seed_distance * turn(angle) for axis, turn in enumerate((math.sin, math.cos))
        )
        second = canvas.begin_at((round(y), round(x)), orientation, brightness)
        if second:
            break
    if not (first and second):
        return None
    for _ in range(drawing.dashes - 1):
        if not (canvas.extend(first, brightness) and canvas.extend(second, brightness)):
            return None
    canvas.close(second)
    return [first, second]
