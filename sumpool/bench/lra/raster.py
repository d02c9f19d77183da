"""Raster operations of Pathfinder: dashes and discs as shares of pixels, circles of pixels, dilation."""

import math
from functools import lru_cache

import numpy as np

Pixel = tuple[int, int]
"""Row and column of a pixel."""
SAMPLES = 4
"""Samples per pixel along each axis."""


@lru_cache(maxsize=64)
def ring(radius: int, space: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels on a circle, (places, 2), their angles, and all pixels near them, (places, offsets, 2)."""
    angles = np.arange(0, 2 * math.pi, 1 / radius)
    steps = np.unique(np.floor(radius * np.stack([np.sin(angles), np.cos(angles)], 1)).astype(int), axis=0)
    reach = range(-space, space + 1)
    offsets = np.array([(y, x) for y in reach for x in reach if y * y + x * x <= space**2])
    return steps, np.arctan2(steps[:, 0], steps[:, 1]), steps[:, None] + offsets


@lru_cache(maxsize=4096)
def stamps_of(orientation: float, length: int, thickness: float, margin: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a dash from the centre of a square in a direction, and its margin, as shares of pixels."""
    half = length + math.ceil(thickness) + margin
    places = grid(2 * half + 1, half)
    y, x = places[:, None], places[None, :]
    along = (y * math.sin(orientation) + x * math.cos(orientation)).clip(0, length)
    distance = np.hypot(y - along * math.sin(orientation), x - along * math.cos(orientation))
    return reduce(distance <= thickness / 2), reduce(distance <= thickness / 2 + margin)


def grid(size: int, centre: int) -> np.ndarray:
    """Return the coordinates of all samples along an axis, relative to a pixel."""
    return (np.arange(size * SAMPLES) + 0.5) / SAMPLES - 0.5 - centre


def reduce(samples: np.ndarray) -> np.ndarray:
    """Return the share of each pixel's samples that are True."""
    size = len(samples) // SAMPLES
    shares: np.ndarray = samples.reshape(size, SAMPLES, size, SAMPLES).mean((1, 3))
    return shares


def dilate(values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return where any value under the kernel is True; nothing lies beyond the edges."""
    padded, size = np.pad(values, len(kernel) // 2), len(values)
    dilated = values.copy()
    for y, x in np.argwhere(kernel).tolist():
        dilated |= padded[y : y + size, x : x + size]
    return dilated


def translate(place: Pixel, orientation: float, distance: float) -> Pixel:
    """Return the pixel at a distance in a direction, rounded up."""
    return (
        math.ceil(place[0] + distance * math.sin(orientation)),
        math.ceil(place[1] + distance * math.cos(orientation)),
    )
