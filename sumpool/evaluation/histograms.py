"""Histograms as inline SVG, coloured by the style sheet of the page."""

from collections.abc import Sequence
from html import escape

import numpy as np

_BINS = 20
_WIDTH, _HEIGHT = 320, 120
_MARGIN = 18
"""Height of the line of labels below the bars."""


def histogram(
    title: str, values: Sequence[float], other: Sequence[float] = (), *, top: float | None = None, unit: str = ""
) -> str:
    """Draw the distribution of values as bars, and that of another system as an outline over them.

    Args:
        title: Description of the values; the label of the image.
        values: The values, from 0.
        other: Values of the other system; none draws no outline.
        top: End of the axis; None takes the highest value.
        unit: Unit after the numbers of the axis.
    """
    top = top or max([*values, *other, 1e-9])
    bars, outline = (np.histogram(data, bins=_BINS, range=(0, top))[0] for data in (values, other))
    highest = max(int(bars.max()), int(outline.max()), 1)
    width = _WIDTH / _BINS
    scale = _HEIGHT / highest
    shapes = [
        f'<rect class="bar" x="{index * width:.1f}" y="{_HEIGHT - count * scale:.1f}" width="{width - 1:.1f}" '
        f'height="{count * scale:.1f}"/>'
        for index, count in enumerate(bars.tolist())
        if count
    ]
    if len(other):
        steps = [f"H{index * width:.1f}V{_HEIGHT - count * scale:.1f}" for index, count in enumerate(outline.tolist())]
        shapes.append(f'<path class="outline" d="M0 {_HEIGHT}{"".join(steps)}H{_WIDTH}V{_HEIGHT}"/>')
    mean = float(np.mean(values)) if len(values) else 0.0
    position = min(_WIDTH * mean / top, _WIDTH)
    shapes.append(f'<path class="mean" d="M{position:.1f} 0V{_HEIGHT}"/>')
    label = f"{title}: {len(values):,} documents, mean {_number(mean)}{unit}, highest bar {highest:,} documents"
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 -2 {_WIDTH} {_HEIGHT + _MARGIN + 2}">'
        f"{''.join(shapes)}"
        f'<path class="axis" d="M0 {_HEIGHT}H{_WIDTH}"/><text x="0" y="{_HEIGHT + 14}">0</text>'
        f'<text class="end" x="{_WIDTH}" y="{_HEIGHT + 14}">{_number(top)}{escape(unit)}</text></svg>'
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
