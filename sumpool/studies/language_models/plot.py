"""Pictures of a study of language models: Pareto front, scaling, and rows by text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sumpool.bench.plots import save_figure
from sumpool.bench.results import Row, unique, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "vanilla": "#000000",
    "fixed": "#0072b2",
    "whitespace": "#e69f00",
    "unigram": "#009e73",
    "entropy": "#cc79a7",
    "gumbel": "#d55e00",
    "random": "#999999",
}
"""Colour of each family, distinguishable for colour-blind readers too (Okabe and Ito)."""
_OTHER = "#56b4e9"
_MARKERS = {"vanilla": "*", "fixed": "s", "whitespace": "^", "unigram": "o", "entropy": "D", "gumbel": "v"}
_BPC = "bits per character of the test text"


def draw_study(study: str, rows: Sequence[Row], path: Path) -> None:
    """Draw the rows of a study as a PNG, one pair of axes per text; needs no display.

    Args:
        study: `boundaries`, `pareto` or `scaling`.
        rows: Rows of `study_rows`.
        path: The picture.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    from matplotlib.figure import Figure

    texts = unique(rows, "text")
    figure = Figure(figsize=(6.4 * len(texts), 5.2), dpi=120, layout="constrained")
    for axes, text in zip(figure.subplots(1, len(texts), squeeze=False).flat, texts, strict=True):
        _DRAW[study](axes, where(rows, {"text": text}))
        axes.set_title(text)
        axes.grid(alpha=0.3)
    save_figure(figure, path)


def _boundaries(axes: "Axes", rows: Sequence[Row]) -> None:
    """Bits per character with intervals, the best row on top."""
    ordered = sorted(rows, key=lambda row: -row["bpc"])
    for place, row in enumerate(ordered):
        axes.errorbar(row["bpc"], place, xerr=_error(row), **_look(row["family"]), linestyle="")
        note = f"  {row['factor']:.1f}x"
        axes.annotate(note, (row["high"], place), va="center", fontsize="small")
    axes.set_yticks(range(len(ordered)), [row["row"] for row in ordered])
    axes.set_xlabel(f"{_BPC}, 95 % intervals; right: shortening factor")
    axes.margins(x=0.15)


def _pareto(axes: "Axes", rows: Sequence[Row]) -> None:
    """Bits per character over shortening factor; what no row beats in both is joined by a line."""
    _lines(axes, rows, "factor")
    for row in rows:
        axes.annotate(row["row"], (row["factor"], row["bpc"]), (3, 4), textcoords="offset points", fontsize="x-small")
    front = pareto_front([(row["factor"], row["bpc"]) for row in rows])
    axes.step(*zip(*front, strict=True), where="pre", color="black", alpha=0.25, linewidth=4, zorder=0)
    axes.margins(0.14)
    axes.set_xlabel("shortening factor; grey: Pareto front")
    axes.set_ylabel(_BPC)


def _scaling(axes: "Axes", rows: Sequence[Row]) -> None:
    """Bits per character over the number of layers."""
    _lines(axes, rows, "layers")
    axes.set_xticks(sorted(unique(rows, "layers")))
    axes.set_xlabel("layers, those outside the middle block included")
    axes.set_ylabel(_BPC)


_DRAW: Mapping[str, Callable[["Axes", Sequence[Row]], None]] = {
    "boundaries": _boundaries,
    "pareto": _pareto,
    "scaling": _scaling,
}


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (factor, bits) such that no other has a higher factor and fewer bits, by ascending factor."""
    front: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda point: (-point[0], point[1])):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front[::-1]


def _lines(axes: "Axes", rows: Sequence[Row], x: str) -> None:
    for label in unique(rows, "line"):
        points = sorted(where(rows, {"line": label}), key=lambda row: row[x])
        look = _look(points[0]["family"])
        axes.errorbar([row[x] for row in points], [row["bpc"] for row in points], _errors(points), **look, label=label)
    axes.legend(frameon=False, fontsize="small")


def _look(family: str) -> dict[str, Any]:
    return {"color": _COLOURS.get(family, _OTHER), "marker": _MARKERS.get(family, "x"), "capsize": 3, "linewidth": 1}


def _error(row: Row) -> list[list[float]]:
    return [[row["bpc"] - row["low"]], [row["high"] - row["bpc"]]]


def _errors(rows: Sequence[Row]) -> list[list[float]]:
    return [[row["bpc"] - row["low"] for row in rows], [row["high"] - row["bpc"] for row in rows]]
