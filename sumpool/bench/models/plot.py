"""The picture of a model beside its twins and peers: seconds and memory by length, both logarithmic."""

from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from typing import TYPE_CHECKING

from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.rows import MODEL, ModelRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"encode": "reading", "train": "training step", "generate": "reading, and writing {} tokens"}
_COSTS: Mapping[str, Callable[[ModelRow], float | None]] = {
    "seconds": lambda row: row.timing.median if row.timing else None,
    "peak MiB": lambda row: row.memory / 2**20 if row.memory else None,
}
_STYLES = ("-", "--", ":")
"""Of lines; the next one begins where all colours are taken."""
APART = 0.055
"""Least distance of two labels, in heights of the axes."""

Look = tuple[str, str]
"""Style and colour of a line."""


def draw_models(figure: "Figure", found: FoundModels, colours: Sequence[str]) -> None:
    """Draw a column for each work and a row for each cost; the model's line is the thick one.

    Args:
        figure: Where to draw; its size is changed.
        found: What was measured.
        colours: Of the systems, used again for dashed lines if there are more of them.
    """
    works = [work for work in _TITLES if any(row.work == work for row in found.models)]
    systems = dict.fromkeys(row.model for row in found.models)
    looks = dict(zip(systems, ((style, colour) for style in _STYLES for colour in colours), strict=False))
    lengths = sorted({row.length for row in found.models})
    figure.set_size_inches(1 + 4.4 * len(works), 7.2)
    grid = figure.subplots(len(_COSTS), len(works), squeeze=False, sharex=True)
    for axes_of_cost, (cost, value) in zip(grid, _COSTS.items(), strict=True):
        for axes, work in zip(axes_of_cost, works, strict=True):
            _scales(axes, lengths)
            _lines(axes, _points([row for row in found.models if row.work == work], value), looks)
        axes_of_cost[0].set_ylabel(f"{cost}, batch {found.models[0].batch}")
    for axes, work in zip(grid[0], works, strict=True):
        axes.set_title(_TITLES[work].format(found.generate))
    for axes in grid[-1]:
        axes.set_xlabel("source tokens")


def _points(rows: Sequence[ModelRow], value: Callable[[ModelRow], float | None]) -> dict[str, list[tuple[int, float]]]:
    """Length and cost by system, without what was not measured."""
    found: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        cost = value(row)
        if cost:
            found.setdefault(row.model, []).append((row.length, cost))
    return found


def _scales(axes: "Axes", lengths: Sequence[int]) -> None:
    """Make both axes logarithmic, with numbers that a person would write."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [f"{length / 1024:g}k" if length >= 1024 else str(length) for length in lengths])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _lines(axes: "Axes", points: Mapping[str, Sequence[tuple[int, float]]], looks: Mapping[str, Look]) -> None:
    """Draw the lines, each with its name at its end."""
    for system, own in points.items():
        width, size, order = (2.6, 6, 3) if system == MODEL else (1.4, 4, 2)
        style, colour = looks[system]
        axes.plot(*zip(*own, strict=True), style, color=colour, lw=width, marker="o", ms=size, zorder=order)
    low, high = map(log, axes.get_ylim())
    last = max((own[-1][0] for own in points.values()), default=0)
    ends = {system: (log(own[-1][1]) - low) / (high - low) for system, own in points.items() if own[-1][0] == last}
    for system, height in spread(ends).items():
        _name(axes, system, (last, exp(low + height * (high - low))), looks[system][1])
    for system, own in points.items():
        if system not in ends:  # others go on to the right of it
            _name(axes, system, own[-1], looks[system][1], above=len(own) > 1)


def _name(axes: "Axes", system: str, place: tuple[float, float], colour: str, *, above: bool = False) -> None:
    axes.annotate(
        system,
        xy=place,
        xytext=(0, 6) if above else (8, 0),
        textcoords="offset points",
        color=colour,
        fontweight="bold" if system == MODEL else "normal",
        horizontalalignment="center" if above else "left",
        verticalalignment="bottom" if above else "center",
        annotation_clip=False,
    )


def spread(heights: Mapping[str, float]) -> dict[str, float]:
    """Move labels as little as possible so that none hides another: those that would stand around their middle."""
    groups: list[tuple[list[str], float]] = []
    for name in sorted(heights, key=lambda name: heights[name]):
        names, middle = [name], heights[name]
        while groups and middle - groups[-1][1] < APART * (len(names) + len(groups[-1][0])) / 2:
            below, their_middle = groups.pop()
            middle = (middle * len(names) + their_middle * len(below)) / (len(names) + len(below))
            names = below + names
        groups.append((names, middle))
    return {
        name: middle + APART * (place - (len(names) - 1) / 2)
        for names, middle in groups
        for place, name in enumerate(names)
    }
