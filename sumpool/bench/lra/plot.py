"""Picture of a task: accuracy over speed, with the memory of an update as the area of a point."""

import io
from collections.abc import Sequence
from pathlib import Path

from sumpool.bench.results.table import MEBI, Row
from sumpool.io.atomic import disk_errors, replace_file

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Distinguishable for colour-blind readers too (Okabe and Ito)."""
_SMALLEST, _LARGEST = 60.0, 900.0
"""Area of a point without memory, and what the most memory adds."""


def draw_lra(task: str, rows: Sequence[Row], path: Path) -> None:
    """Draw the rows as a PNG; needs no display.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), dpi=120, layout="constrained")
    axes = figure.subplots()
    ordered = sorted(rows, key=lambda row: -row["accuracy"])
    most = max((row["memory"] or 0 for row in ordered), default=0) or 1
    for number, row in enumerate(ordered, 1):
        point = 1000 / row["minutes"] if row["minutes"] else 0.0, row["accuracy"]
        memory, colour = row["memory"] or 0, _COLOURS[number % len(_COLOURS)]
        bounds = [[row["accuracy"] - row["low"]], [row["high"] - row["accuracy"]]]
        axes.errorbar(*point, bounds, color=colour, capsize=3, linewidth=1)
        label = f"{number} {row['attention']}" + (f", {memory / MEBI:,.0f} MiB" if memory else "")
        area = _SMALLEST + _LARGEST * memory / most
        axes.scatter(*point, s=area, color=colour, alpha=0.45, linewidths=0, label=label)
        axes.annotate(str(number), point, ha="center", va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("updates per minute")
    axes.set_ylabel("accuracy on the test rows, %, with 95 % intervals")
    axes.set_title(f"Long Range Arena, {task}: area of a point is the memory of an update")
    axes.margins(0.1)
    axes.grid(alpha=0.3)
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=8, frameon=False)
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([_SMALLEST])
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())
