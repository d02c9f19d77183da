"""Table of a task of the Long Range Arena, with the columns of the papers, and its exports."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from sumpool.bench.results.exports import to_csv, to_latex
from sumpool.bench.results.table import Column, Row, Table
from sumpool.evaluation.statistics import Estimate
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.training.fit import JOURNAL
from sumpool.training.journal import Journal

_T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5th percentiles of Student's t for 1 to 9 degrees of freedom."""
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


def export(table: Table, rows: Sequence[Row], folder: Path, about: dict[str, Any]) -> None:
    """Write a table as JSON, CSV and LaTeX to a folder.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    content = {
        "results.json": json.dumps(about | {"rows": [row.to_json() for row in rows]}, indent=2) + "\n",
        "results.csv": to_csv([table]),
        "results.tex": to_latex([table]),
    }
    for name, text in content.items():
        with disk_errors(folder / name):
            replace_file(folder / name, text.encode())
