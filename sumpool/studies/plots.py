"""Pictures of studies as PNG files; matplotlib, which is optional, is imported only when one is drawn."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sumpool.bench.results import BenchReport, Result, Row, unique, where
from sumpool.errors import RecipeError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.replaceable import require_unlisted
from sumpool.studies.approximation import APPROXIMATIONS
from sumpool.studies.depth import MODELS
from sumpool.studies.operators import LOOP, NEVER, SORTED
from sumpool.studies.shortening import PUBLISHED
from sumpool.studies.sparsity import MODES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_KEPT = 5
"""Numbers kept, at most, that are drawn."""
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


def draw_panels(panels: Sequence[Panel], path: Path, rows: int = 1) -> None:
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


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as a PNG; needs no display.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())


def require_panels(study: str, path: Path) -> None:
    """Make sure, before anything is measured, that there will be a picture.

    Raises:
        RecipeError: If the study has none, or it cannot be written.
    """
    if study not in _PANELS:
        raise RecipeError(f"--plot must go with one of {', '.join(_PANELS)}, got {study}")
    require_plots(path)


def draw(report: BenchReport, path: Path) -> None:
    """Draw the report of a study as a PNG; needs no display."""
    panels = [*_PANELS[report.suite](report.result, report.settings["study"])]
    draw_panels(panels, path, 1 if len(panels) < 4 else 2)


def _operators(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Figures 5 and 6 of Pietruszka et al. side by side."""
    rows = result.rows["operators"]
    lengths = {keep: len(unique(where(rows, {"keep": keep}), "length")) for keep in unique(rows, "keep")}
    kept = sorted(keep for keep, count in lengths.items() if count > 1) or sorted(lengths)  # one point is no line
    chosen = [(operator, keep) for operator in (SORTED, NEVER, LOOP) for keep in kept[:: -(-len(kept) // _MOST_KEPT)]]
    for name, title in (
        ("fastest", f"seconds of a batch of {settings['batch']}"),
        ("similarity", "similarity to exact top-k (nCCS)"),
    ):
        lines = {
            (f"keep {keep:,}", operator): points(rows, {"operator": operator, "keep": keep}, "length", name)
            for operator, keep in chosen
        }
        yield Panel(title, "vectors", lines, log=name == "fastest")


def _shortening(result: Result, _: Mapping[str, Any]) -> Iterator[Panel]:
    """Figure 5 of Nawrot et al.: time and memory in proportion to no shortening."""
    for index, cost in enumerate(("time", "memory")):
        published = [(factor, both[index]) for factor, both in PUBLISHED.items()]
        measured = points(result.rows["shortening"], {}, "factor", f"{cost}_ratio")
        lines = {("measured", ""): measured, ("published", ""): published}
        yield Panel(f"{cost} of a training step / no shortening", "shortening factor", lines)


def _depth(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Figure 4 of Pietruszka et al., for each length."""
    for length in unique(result.rows["depth"], "length"):
        measured = where(result.rows["depth"], {"length": length})
        lines = {(name, ""): points(measured, {"model": name}, "layers", "median") for name in MODELS}
        yield Panel(f"seconds of a training step, {length:,} tokens, batch {settings['batch']}", "layers", lines)


def _sparsity(result: Result, settings: Mapping[str, Any]) -> Iterator[Panel]:
    """Figure 1 of Manakul and Gales, and the times that Table 1 is fitted to."""
    kept = {(f"layer {row['layer']}", ""): [*enumerate(row["kept"], 1)] for row in result.rows["layers"]}
    yield Panel(f"attention that the best sentences hold, {result.facts['documents']} documents", "sentences", kept)
    times = {(mode, ""): points(result.rows["times"], {"mode": mode}, "target", "fastest") for mode in MODES}
    yield Panel(f"seconds, {settings['length']:,} source tokens", "summary tokens", times, log=True)


def _approximation(result: Result, _: Mapping[str, Any]) -> Iterator[Panel]:
    """Error by features at the greatest length, and by length at the most features that every length exceeds."""
    rows = result.rows["approximation"]
    for weights in unique(rows, "weights"):
        measured = where(rows, {"weights": weights})
        lengths, features = unique(measured, "length"), unique(measured, "features")
        # With as many features as tokens some are exact, and only rounding would be seen.
        most = max([count for count in features if count < min(lengths)], default=min(features))
        for x, axis, fixed in (
            ("features", "features", {"length": max(lengths)}),
            ("length", "tokens", {"features": most}),
        ):
            lines = {
                (name, ""): points(measured, {"approximation": name, **fixed}, x, "error") for name in APPROXIMATIONS
            }
            title = ", ".join(f"{value:,} {'tokens' if name == 'length' else name}" for name, value in fixed.items())
            yield Panel(f"spectral error, {weights} weights, {title}", axis, lines, log=True)


_PANELS: Mapping[str, Callable[[Result, Mapping[str, Any]], Iterator[Panel]]] = {
    "operators": _operators,
    "depth": _depth,
    "shortening": _shortening,
    "sparsity": _sparsity,
    "approximation": _approximation,
}
"""Panels of each study that has a picture."""
