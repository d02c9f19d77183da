"""Pictures as PNG files; matplotlib, which is optional, is imported only when one is drawn."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from sumpool.io.atomic import disk_errors, replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Distinguishable for colour-blind readers too (Okabe and Ito)."""


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as a PNG; needs no display.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())
