"""Table and picture of a task of the Long Range Arena, with the columns of the papers, and its exports.

Settings of attentions are those of the released configurations, 128 features, landmarks or columns. Published
accuracies are of two papers that differ in batch sizes and numbers of updates, so that their columns cannot be compared
with each other: Skeinformer (Chen et al., 2022) and Skyformer (Chen et al., 2021), table "Classification accuracy on
LRA" of each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from sumpool.bench.plots import COLOURS, save_figure
from sumpool.bench.results import MEBI, Column, Row, Table
from sumpool.errors import RecipeError
from sumpool.evaluation.statistics import Estimate
from sumpool.settings import kinds
from sumpool.training.fit import JOURNAL
from sumpool.training.journal import Journal

ATTENTIONS: Mapping[str, Mapping[str, Any]] = {
    "bigbird": {"block": 64, "random_blocks": 3},
    "linformer": {"rank": 128},
    "lsh": {"hashes": 2, "local_heads": 0},
    "nystrom": {"landmarks": 128},
    "performer": {"features": 128},
    "skyformer": {"landmarks": 128},
}
"""Settings of an attention that differ from its defaults."""
_TASKS = ("text", "listops", "retrieval", "pathfinder32", "image")
_SKEINFORMER = {
    "vanilla": (57.69, 38.15, 80.10, 73.59, 37.97),
    "v_mean": (65.29, 28.78, 80.49, 61.01, 34.33),
    "bigbird": (61.91, 38.86, 79.73, 71.75, 35.00),
    "performer": (57.67, 37.70, 75.69, 56.50, 37.40),
    "nystrom": (60.91, 37.76, 79.87, 72.53, 31.93),
    "lsh": (62.69, 37.94, 78.85, 69.21, 36.42),
    "linformer": (58.52, 37.97, 77.40, 55.57, 37.48),
    "informer": (61.55, 38.43, 80.88, 59.34, 36.55),
    "skeinformer": (62.47, 38.73, 80.42, 71.51, 37.27),
}
_SKYFORMER = {
    "vanilla": (61.95, 38.37, 80.69, 65.26, 40.57),
    "kernelized": (60.22, 38.78, 81.77, 70.73, 41.29),
    "nystrom": (64.83, 38.51, 80.52, 69.48, 41.30),
    "linformer": (58.93, 37.45, 78.19, 60.93, 37.96),
    "informer": (62.64, 32.53, 77.57, 57.83, 38.10),
    "performer": (64.19, 38.02, 80.04, 66.30, 41.43),
    "lsh": (62.93, 37.68, 78.99, 66.49, 48.87),
    "bigbird": (63.86, 39.25, 80.28, 68.72, 43.16),
    "skyformer": (64.70, 38.69, 82.06, 70.73, 40.77),
}
_FIXED_LENGTH = ("linformer", "synthesizer")
"""Attentions with parameters for each position."""
_T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5th percentiles of Student's t for 1 to 9 degrees of freedom."""
_SMALLEST, _LARGEST = 60.0, 900.0
"""Area of a point without memory, and what the most memory adds."""


def published(task: str, kind: str) -> dict[str, float | None]:
    """Return the published accuracies of an attention on a task, from 0 to 100; None where there is none."""
    tables = {"skeinformer": _SKEINFORMER, "skyformer": _SKYFORMER}
    place = _TASKS.index(task) if task in _TASKS else None
    return {
        f"published_{name}": table[kind][place] if place is not None and kind in table else None
        for name, table in tables.items()
    }


def attention_settings(kind: str, length: int) -> dict[str, Any]:
    """Return the settings of an attention for documents of a length, as in a recipe.

    Raises:
        RecipeError: If there is no such attention.
    """
    names = kinds("sumpool.core.attention")
    if kind not in names:
        raise RecipeError(f"study.attentions must be names of attentions ({', '.join(names)}), got {kind}")
    return {"kind": kind, **ATTENTIONS.get(kind, {}), **({"length": length} if kind in _FIXED_LENGTH else {})}


_COLUMNS = (
    Column("attention", "attention"),
    Column("accuracy %", "accuracy", ".2f"),
    Column("from", "low", ".2f"),
    Column("to", "high", ".2f"),
    Column("Skeinformer", "published_skeinformer", ".2f"),
    Column("Skyformer", "published_skyformer", ".2f"),
    Column("updates", "steps", ","),
    Column("k updates to best", "converged", ".2f"),
    Column("min / k updates", "minutes", ".1f"),
    Column("accumulation", "accumulation", ","),
    Column("peak MiB", "memory", ",.0f", "MiB"),
    Column("parameters", "parameters", ","),
)


@dataclass(frozen=True)
class LraRun:
    """A trained and evaluated run.

    Attributes:
        seed: Seed.
        accuracy: Accuracy on the test rows with its 95 % interval, from 0 to 1.
        steps: Updates.
        converged: Updates until the best validation accuracy.
        seconds: Median time of an update.
    """

    seed: int
    accuracy: Estimate
    steps: int
    converged: int
    seconds: float


def read_run(run: Path, seed: int, accuracy: Estimate) -> LraRun:
    """Read what the metrics log of a finished run tells.

    Raises:
        CheckpointError: If the log is damaged.
    """
    records = Journal(run / JOURNAL).read()
    updates = [record for record in records if record["kind"] == "step"]
    best = [record["step"] for record in records if record["kind"] == "validation" and record["best"]]
    seconds = median([record["seconds"] for record in updates]) if updates else 0.0
    return LraRun(seed, accuracy, len(updates), best[-1] if best else 0, seconds)


def make_row(
    attention: str, runs: Sequence[LraRun], published: dict[str, float | None], cost: dict[str, Any], memory: float
) -> Row:
    """Return the row of an attention.

    Args:
        attention: Name of the attention.
        runs: Its runs, one per seed.
        published: Published accuracies.
        cost: `peak_memory` of the longest batch, bytes or None, and `parameters`.
        memory: Bytes that the divided batches of an update must fit into.
    """
    accuracy = over_seeds([run.accuracy for run in runs])
    peak = cost["peak_memory"]
    values = {
        "attention": attention,
        "accuracy": 100 * accuracy.mean,
        "low": 100 * accuracy.low,
        "high": 100 * accuracy.high,
        **published,
        "steps": round(fmean(run.steps for run in runs)),
        "converged": fmean(run.converged for run in runs) / 1000,
        "minutes": fmean(run.seconds for run in runs) * 1000 / 60,
        "accumulation": None if peak is None else accumulation(peak, memory),
        "memory": peak,
        "parameters": cost["parameters"],
        "runs": [asdict(run) for run in runs],
    }
    return Row(values)


def over_seeds(accuracies: Sequence[Estimate]) -> Estimate:
    """Return the mean over seeds with its 95 % interval by Student's t; of one seed, its own interval over rows."""
    if len(accuracies) == 1:
        return accuracies[0]
    means = [accuracy.mean for accuracy in accuracies]
    quantile = _T_QUANTILES[len(means) - 2] if len(means) - 2 < len(_T_QUANTILES) else 1.96
    margin = quantile * stdev(means) / len(means) ** 0.5
    return Estimate(fmean(means), fmean(means) - margin, fmean(means) + margin)


def accumulation(peak: float, memory: float) -> int:
    """Return the parts, a power of two, into which a batch is divided so that each fits into a memory."""
    parts = 1
    while peak > memory * parts:
        parts *= 2
    return parts


def make_lra_table(task: str, rows: Sequence[Row], memory: float, notes: Sequence[str]) -> Table:
    """Lay out the rows, the best first."""
    ordered = sorted(rows, key=lambda row: -row["accuracy"])
    fixed = (
        f"accumulation: parts of a batch, so that each fits into {memory:g} GiB; peak MiB: the longest batch",
        "Skeinformer, Skyformer: accuracies published with these attentions; their settings differ from each other",
    )
    return Table(f"Long Range Arena, {task}", _COLUMNS, ordered, [*fixed, *notes])


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
        memory, colour = row["memory"] or 0, COLOURS[number % len(COLOURS)]
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
    save_figure(figure, path)
