"""Pictures of results as PNG files; matplotlib, which is optional, is imported only when one is drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sumpool.bench.results import MEBI, Result, Row, unique, where
from sumpool.errors import RecipeError
from sumpool.io.replaceable import require_unlisted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
import io
from typing import TYPE_CHECKING

from sumpool.io.atomic import disk_errors, replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STYLES: Sequence[Literal["-", "--", ":", "-."]] = ("-", "--", ":", "-.")

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Distinguishable for colour-blind readers too (Okabe and Ito)."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: Line above it.
        axis: Label of the horizontal axis, which has octaves and a label at every point, or is linear for "sentences".
        lines: Points of each line by what its colour stands for and what its style stands for, empty for one style.
        log: Whether the vertical axis is logarithmic; where it is not, it begins at 0.
    """

    title: str
    axis: str
    lines: Mapping[tuple[str, str], Sequence[tuple[float, float]]]
    log: bool = False


def require_plots(path: Path) -> None:
    """Make sure, before anything is measured, that there will be a picture.

    Raises:
        RecipeError: If the file is no PNG or one of a run, its folder does not exist, or matplotlib is missing.
    """
    if path.suffix != ".png":
        raise RecipeError(f"--plot must name a .png file, got {path}")
    if not path.parent.is_dir():
        raise RecipeError(f"--plot must name a file in a folder that is there, got {path}")
    require_unlisted(path)
    if find_spec("matplotlib") is None:
        raise RecipeError("--plot must have matplotlib, which is not installed: pip install 'sumpool[plots]'")


def draw(panels: Sequence[Panel], path: Path, rows: int = 1) -> None:
    """Draw panels in rows as a PNG; needs no display."""
    from matplotlib.figure import Figure

    columns = -(-len(panels) // rows)
    figure = Figure(figsize=(1 + 5 * columns, 5.2 * rows), dpi=120, layout="constrained")
    for axes, panel in zip_longest(figure.subplots(rows, columns, squeeze=False).flat, panels):
        if panel is None:
            axes.set_axis_off()
        else:
            _draw(axes, panel)
    save_figure(figure, path)


def _draw(axes: "Axes", panel: Panel) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter

    colours = list(dict.fromkeys(colour for colour, _ in panel.lines))
    styles = list(dict.fromkeys(style for _, style in panel.lines))
    octaves = panel.axis != "sentences"
    handles: list[Line2D] = []
    for (label, style), line_points in panel.lines.items():
        number = colours.index(label)
        line = _STYLES[styles.index(style) if style else number // len(COLOURS) % len(_STYLES)]
        look = Line2D([], [], label=label, color=COLOURS[number % len(COLOURS)], linestyle=line)
        if label not in [handle.get_label() for handle in handles]:
            handles.append(look)
        x, y = zip(*line_points, strict=True) if line_points else ((), ())
        axes.plot(x, y, color=look.get_color(), linestyle=line, marker="o" if octaves else "", markersize=3)
    if len(styles) > 1:
        handles += [Line2D([], [], label=style, color="black", linestyle=_STYLES[n]) for n, style in enumerate(styles)]
    legend = axes.legend(handles=handles, frameon=False, fontsize="small")
    if len(handles) > len(COLOURS):  # many lines leave no room for their names
        legend.set_loc("center left")
        legend.set_bbox_to_anchor((1, 0.5))
    axes.set_title(panel.title, fontsize="medium")
    axes.set_xlabel(panel.axis)
    axes.grid(alpha=0.3)
    if octaves:
        positions = sorted({x for points in panel.lines.values() for x, _ in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(positions, [f"{number:g}" for number in positions])
    if panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)


def points(rows: Sequence[Row], labels: Mapping[str, Any], x: str, y: str, scale: float = 1) -> list[Any]:
    """Values y over x of the rows with these labels, without rows where y is missing."""
    return [(row[x], scale * row[y]) for row in where(rows, labels) if row[y]]


def model_panels(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Seconds and memory by length, for each workload."""
    rows = result.rows["models"]
    for cost, name, scale in (("seconds", "median", 1), ("peak MiB", "memory", 1 / MEBI)):
        for workload in unique(rows, "workload"):
            measured = where(rows, {"workload": workload})
            models = unique(rows, "model")
            lines = {(model, ""): points(measured, {"model": model}, "length", name, scale) for model in models}
            yield Panel(f"{workload}: {cost}, batch {settings['batch']}", "source tokens", lines, log=True)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as a PNG; needs no display.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())
