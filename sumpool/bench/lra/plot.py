"""Picture of a task: accuracy over speed, with the memory of an update as the area of a point."""

import io
from collections.abc import Sequence
from pathlib import Path

from sumpool.bench.results.table import MEBI, Row
from sumpool.io.atomic import disk_errors, replace_file

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Distinguishable for colour-blind readers too (Okabe and Ito)."""
_LARGEST = 1200.0
"""Area of the point with the most memory."""


def draw_lra(task: str, rows: Sequence[Row], path: Path) -> None:
    """Draw the rows as a PNG; needs no display.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    axes = figure.subplots()
    most = max((row["memory"] or 0 for row in rows), default=0) or 1
    for number, row in enumerate(rows):
        speed = 1 / row["minutes"] if row["minutes"] else 0.0
        colour = _COLOURS[number % len(_COLOURS)]
        memory = row["memory"] or 0
        axes.errorbar(
            speed,
            row["accuracy"],
            [[row["accuracy"] - row["low"]], [row["high"] - row["accuracy"]]],
            color=colour,
            capsize=3,
            linewidth=1,
        )
        axes.scatter(speed, row["accuracy"], s=40 + _LARGEST * memory / most, color=colour, alpha=0.45, linewidths=0)
        label = f"{row['attention']} ({memory / MEBI:,.0f} MiB)" if memory else row["attention"]
        axes.annotate(label, (speed, row["accuracy"]), xytext=(6, 6), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("thousands of updates per minute")
    axes.set_ylabel("accuracy on the test rows, %, with 95 % intervals")
    axes.set_title(f"Long Range Arena, {task}: area of a point is the memory of an update")
    axes.margins(0.15)
    axes.grid(alpha=0.3)
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())
