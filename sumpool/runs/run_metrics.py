"""Metrics of a finished run: scores of its summaries, the cost of an update, its metrics log."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import TypeAdapter

from sumpool.data.sources._base import Split
from sumpool.errors import CheckpointError
from sumpool.evaluation.rouge import TITLES as ROUGE
from sumpool.evaluation.scores import SCORES as SCORE_FILE
from sumpool.evaluation.scores import read_scores
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import read_json
from sumpool.io.json_lines import read_records
from sumpool.io.manifest import Manifest
from sumpool.runs.dry_run import DryRun
from sumpool.training.fit import JOURNAL
from sumpool.training.journal import Journal

Columns = Literal["rouge", "perplexity", "accuracy"]
"""Columns of the table of a sweep."""
TITLES: Mapping[Columns, Mapping[str, str]] = {
    "rouge": ROUGE,
    "perplexity": ROUGE,
    "accuracy": {"accuracy": "accuracy %"},
}
"""Titles of the scores of a document, by their names."""
_LABEL = TypeAdapter(dict[str, Any])
DRY_RUN = "dry_run.json"
"""File of a run folder with the cost of an update, measured once."""
_ADVICE = "delete it, and evaluate the run again"
_LAST_UPDATES = 10
"""Updates at the end of training over which layer metrics are averaged."""


@dataclass(frozen=True)
class RunMetrics:
    """Metrics of a finished run.

    Attributes:
        rouge: For each document, F1 from 0 to 1 of every score in `ROUGE`; of a classifier, whether its label is
            correct, 0 or 1.
        loss: Validation loss of the weights that were scored, nats per token.
        losses: Seconds of training before each validation, and its loss.
        tokens_per_second: Source tokens per second of each update.
        peak_memory: Bytes that an update needs beside weights and moments; None if unknown.
        layer_metrics: Metrics of the encoder layers at the end of training, by name.
        rouge_l: F1 of ROUGE-L for each document, from 0 to 1.
        evaluation_speed: Source tokens per second of a forward pass in evaluation; None if unknown.
    """

    rouge: Mapping[str, tuple[float, ...]]
    loss: float
    losses: Sequence[tuple[float, float]]
    tokens_per_second: Sequence[float]
    peak_memory: int | None
    layer_metrics: Mapping[str, float]
    rouge_l: tuple[float, ...] = ()
    evaluation_speed: float | None = None

    def seconds_to(self, loss: float) -> float | None:
        """Return the seconds of training until a validation loss was reached; None if it never was."""
        return next((seconds for seconds, reached in self.losses if reached <= loss), None)


def evaluation_folder(run: Path, split: Split) -> Path:
    """Return the folder of a run that an evaluation of a split writes to by default."""
    return run / "evaluation" / split


def read_run_metrics(run: Path, split: Split, *, classified: bool = False) -> RunMetrics:
    """Read the metrics of a run that was evaluated on a split and whose update was measured.

    Args:
        run: The run folder.
        split: The split.
        classified: Whether the run is a classifier.

    Raises:
        CheckpointError: If the folder is damaged.
        DataError: If the scores are damaged.
    """
    losses, speeds, layer_metrics = read_journal(Journal(run / JOURNAL).read())
    path, cost = evaluation_folder(run, split) / SCORE_FILE, read_dry_run(run)
    summaries = () if classified else read_scores(path)
    labels = read_records(path, _LABEL.validate_json, "a label", "evaluate again") if classified else ()
    scores = {document.id: document.systems["model"].rouge for document in summaries}
    correct: dict[str, tuple[float, ...]] = {row["id"]: (float(row["label"] == row["predicted"]),) for row in labels}
    return RunMetrics(
        rouge=correct or {id: tuple(rouge[name].f1 for name in ROUGE) for id, rouge in scores.items()},
        loss=Manifest.read(run).facts["validation_loss"],
        losses=losses,
        tokens_per_second=speeds,
        peak_memory=cost.peak_memory,
        layer_metrics=layer_metrics,
        rouge_l=tuple(rouge["rougeL"].f1 for rouge in scores.values()),
        evaluation_speed=cost.evaluation_speed,
    )


def read_journal(
    records: Sequence[Mapping[str, Any]],
) -> tuple[list[tuple[float, float]], list[float], dict[str, float]]:
    """Extract losses, tokens per second and layer metrics of `RunMetrics` from a metrics log."""
    seconds, losses, speeds, updates = 0.0, [], [], []
    for record in records:
        if record["kind"] == "step":
            seconds += record["seconds"]
            speeds.append(float(record["tokens_per_second"]))
            updates.append(record)
        elif record["kind"] == "validation":
            losses.append((seconds, record["nats"]))
    last = updates[-_LAST_UPDATES:]
    names = [name for name in (last[-1] if last else ()) if name.startswith("layer_")]
    layer_metrics = {name: fmean(record[name] for record in last if name in record) for name in names}
    return losses, speeds, layer_metrics


def save_dry_run(run: Path, cost: DryRun) -> None:
    """Save the cost of an update in a run folder.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    with disk_errors(run):
        replace_file(run / DRY_RUN, json.dumps(asdict(cost)).encode())


def read_dry_run(run: Path) -> DryRun:
    """Read the cost of an update of a run, as measured when the run was evaluated first.

    Raises:
        CheckpointError: If the file is missing or damaged.
    """
    path = run / DRY_RUN
    try:
        return DryRun(**read_json(path, CheckpointError, _ADVICE))
    except TypeError as error:
        raise CheckpointError(f"{path} must hold the cost of an update, got: {error}; {_ADVICE}") from error
