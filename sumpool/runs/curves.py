"""Curves of a training run: PNG and SVG by matplotlib, and the files of TensorBoard; both libraries are optional."""

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sumpool.errors import RecipeError
from sumpool.evaluation.rouge import TITLES
from sumpool.io.atomic import disk_errors, replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVES = ("curves.png", "curves.svg")
_COLOURS = {"train": "#56b4e9", "nats": "#0072b2", "rouge1": "#e69f00", "rouge2": "#009e73", "rougeLsum": "#cc79a7"}
"""Distinguishable for colour-blind readers too (Okabe and Ito)."""
_POINTS = 400
"""Points of the training loss at most; more updates are averaged."""

FOLDER = "tensorboard"
_EVENTS = "events.out.tfevents.*"


def draw_curves(run: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Draw the losses, and the scores if there are any, of a metrics log, and save them in the run folder.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    updates = [record for record in records if record["kind"] == "step"]
    validations = [record for record in records if record["kind"] == "validation"]
    names = [name for name in TITLES if any(name in record for record in validations)]
    with mpl.rc_context({"svg.hashsalt": "sumpool", "svg.fonttype": "none"}):  # equal files for equal curves
        figure = Figure(figsize=(10 if names else 6, 4))
        panels = figure.subplots(1, 2 if names else 1, squeeze=False)[0]
        margin = 0.07 if names else 0.12
        figure.subplots_adjust(margin, 0.13, 0.98, 0.97, wspace=0.18)  # twice as fast as an automatic layout
        _draw_losses(panels[0], updates, validations)
        if names:
            _draw_scores(panels[1], validations, names)
        for name in CURVES:
            content, is_svg = io.BytesIO(), name.endswith("svg")
            figure.savefig(content, format=name[-3:], dpi=120, metadata={"Date": None} if is_svg else None)
            with disk_errors(run / name):
                replace_file(run / name, content.getvalue())


def _draw_losses(axes: "Axes", updates: Sequence[Mapping[str, Any]], validations: Sequence[Mapping[str, Any]]) -> None:
    steps, losses = (np.array([record[name] for record in updates], float) for name in ("step", "nats"))
    width = -(-len(steps) // _POINTS)
    if width:
        edges = np.arange(0, len(steps), width)
        counts = np.diff([*edges, len(steps)])
        points = [np.add.reduceat(values, edges) / counts for values in (steps, losses)]
        axes.plot(*points, color=_COLOURS["train"], linewidth=1, label="training")
    _draw_validations(axes, validations, "nats", "validation", _COLOURS["nats"])
    best = [record for record in validations if record.get("best")]
    if best:
        axes.axvline(best[-1]["step"], color="0.6", linestyle=":", linewidth=1, label="best weights")
    _finish(axes, "loss, nats per token")


def _draw_scores(axes: "Axes", validations: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    for name in names:
        _draw_validations(axes, validations, name, TITLES[name], _COLOURS[name])
    axes.set_ylim(bottom=0)
    _finish(axes, "ROUGE of validation documents, F1 x 100")


def _draw_validations(
    axes: "Axes", validations: Sequence[Mapping[str, Any]], name: str, label: str, colour: str
) -> None:
    points = [(record["step"], record[name]) for record in validations if name in record]
    if points:
        axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=3, label=label)


def _finish(axes: "Axes", label: str) -> None:
    axes.set_xlabel("updates")
    axes.set_ylabel(label)
    axes.grid(visible=True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def require_tensorboard() -> None:
    """Check that tensorboard is installed.

    Raises:
        RecipeError: If it is not.
    """
    if find_spec("tensorboard") is None:
        raise RecipeError(
            "train.log must name libraries that are installed, but tensorboard is not: "
            "pip install 'sumpool[tensorboard]'"
        )


class TensorboardLog:
    """Files of one process for TensorBoard, in the folder `tensorboard` of a run."""

    def __init__(self, run: Path) -> None:
        """Open the folder; files of earlier processes are removed, as a killed one may have logged repeated steps.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        from torch.utils.tensorboard import SummaryWriter

        folder = run / FOLDER
        with disk_errors(folder):
            for path in () if folder.is_symlink() else folder.glob(_EVENTS):
                path.unlink()
            self._writer = SummaryWriter(str(folder))
        self._written = 0

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the records of a metrics log that are not written yet, given all of them."""
        for record in records[self._written :]:
            group = "train" if record["kind"] == "step" else record["kind"]
            for name, value in record.items():
                if name != "step" and isinstance(value, int | float):
                    self._writer.add_scalar(f"{group}/{name}", value, record["step"])
        self._written = len(records)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
