"""Summary of a run folder for a list of runs: state, scores, size and date, read without loading a model."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sumpool.errors import DataError, SumpoolError, first_line
from sumpool.io.bounded import parse_json, read_regular, read_tensor_entries
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import Manifest
from sumpool.recipe.yaml_text import parse

RunState = Literal["finished", "in progress", "imported", "damaged"]
MEASURES = ("rouge1", "rouge2", "rougeLsum")
RECIPE, WEIGHTS, METRICS = "recipe.yaml", "model.safetensors", "metrics.jsonl"
"""Files of a run folder, named here too because their own modules import torch."""
MAX_METRICS_BYTES = 1 << 30
"""Size of a metrics log at most; a million updates take a third of it."""


@dataclass(frozen=True)
class RunSummary:
    """One run of a list.

    Attributes:
        run: Run folder.
        name: Name in its recipe; empty if that cannot be read.
        state: Whether its training has ended; imported and exported models have none.
        problem: Reason why it counts as damaged; empty otherwise.
        step: Updates so far.
        steps: Updates of the whole run.
        loss: Validation loss of its weights, nats per token; None before the first validation.
        rouge: Mean F1 from 0 to 100 by measure; empty if it was never scored.
        accuracy: Accuracy of a classifier, from 0 to 100; None if it was never evaluated.
        bpc: Bits per character of a language model; None if it was never evaluated.
        scored: Split whose evaluation these are from ("test", "validation"); "training" for that of its validations.
        parameters: Number of parameters; None before the first validation.
        bytes: Size of the weights file; None before the first validation.
        date: Time of the last change, in UTC (ISO 8601).
    """

    run: str
    name: str
    state: RunState
    problem: str = ""
    step: int = 0
    steps: int = 0
    loss: float | None = None
    rouge: Mapping[str, float] = field(default_factory=dict)
    accuracy: float | None = None
    bpc: float | None = None
    scored: str = ""
    parameters: int | None = None
    bytes: int | None = None
    date: str = ""


def list_runs(folder: Path) -> list[RunSummary]:
    """Summarise the runs of a folder, the newest first; damaged ones are listed too.

    Args:
        folder: Folder of run folders and of sweeps, or a run folder.

    Raises:
        DataError: If there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} must be a folder of runs, got none; sumpool train makes one")
    return sorted(map(summarize_run, run_folders(folder)), key=lambda run: (run.date, run.run), reverse=True)


def run_folders(folder: Path) -> list[Path]:
    """List the run folders in a folder and its subfolders, such as those of sweeps; the folder may be a run itself."""
    patterns = (f"{levels}{name}" for levels in ("", "*/", "*/*/") for name in (RECIPE, METRICS))
    parents = {path.parent for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in parents if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def summarize_run(run: Path) -> RunSummary:
    """Summarise a run folder; a damaged one is described as far as it can be read."""
    date = _date(run)
    try:
        manifest = Manifest.read(run)
        tree = read_recipe(run)
        parameters, size = _weights(run / WEIGHTS, manifest)
        validations = read_records(run / METRICS, "validation")
        step = max((record["step"] for record in read_records(run / METRICS, "step", last=True)), default=0)
    except (SumpoolError, OSError, ValueError, LookupError, TypeError) as error:
        return RunSummary(str(run), "", "damaged", first_line(error), date=date)
    train = tree.get("train") or {}
    best = next((record for record in validations[::-1] if record["step"] == manifest.facts.get("step")), {})
    scores, scored = _scores(run, best)
    return RunSummary(
        run=str(run),
        name=str(tree.get("name", "")),
        state=_state(manifest.facts, train),
        step=step or int(manifest.facts.get("finished", 0)),
        steps=train.get("steps", 0),
        loss=manifest.facts.get("validation_loss"),
        rouge={name: scores[name] for name in MEASURES if name in scores},
        accuracy=scores.get("accuracy"),
        bpc=scores.get("bpc"),
        scored=scored,
        parameters=parameters,
        bytes=size,
        date=date,
    )


def read_recipe(run: Path) -> dict[str, Any]:
    """Parse the recipe of a run without validating its settings, which needs torch.

    Raises:
        ValueError: If it is no recipe.
        OSError: If it cannot be read.
    """
    try:
        tree = parse(read_regular(run / RECIPE).decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{run / RECIPE} {error}") from error
    if not isinstance(tree, dict):
        raise ValueError(f"{run / RECIPE} must be a mapping of settings, got {type(tree).__name__}")
    return tree


def read_records(path: Path, kind: str, *, last: bool = False) -> list[dict[str, Any]]:
    """Read the records of one kind in a metrics log, or only the last one; lines of other kinds are not parsed."""
    if not path.exists():
        return []
    mark = f'"kind": "{kind}"'.encode()
    lines = [line for line in read_regular(path, MAX_METRICS_BYTES).split(b"\n")[:-1] if mark in line]
    return [record for line in (lines[-1:] if last else lines) if isinstance(record := parse_json(line), dict)]


def evaluations(run: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the reports of the evaluations in a run folder, with the names of their splits; test comes first."""
    for path in sorted(
        (run / "evaluation").glob("[!.]*/report.json"), key=lambda path: (path.parent.name != "test", path)
    ):
        try:
            report = parse_json(read_regular(path))
        except (OSError, ValueError):
            continue
        if isinstance(report, dict):
            yield path.parent.name, report


def _scores(run: Path, validation: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Return the scores of an evaluation, or else those of the validation of the best weights, and their origin."""
    for split, report in evaluations(run):
        scores = _report_scores(report)
        if scores:
            return scores, split
    scores = {name: validation[name] for name in MEASURES if name in validation}
    return scores, "training" if scores else ""


def _report_scores(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores in the report of an evaluation, by name; none of a report of another form."""
    try:
        if "rows" in report:
            rouge: Mapping[str, Any] = next((row["rouge"] for row in report["rows"] if row.get("slice") == "all"), {})
            return {name: 100 * rouge[name]["mean"] for name in MEASURES if name in rouge}
        factors = {"accuracy": 100, "bpc": 1}
        return {name: factor * report[name]["mean"] for name, factor in factors.items() if name in report}
    except (AttributeError, KeyError, TypeError):
        return {}


def _state(facts: Mapping[str, Any], train: Mapping[str, Any]) -> RunState:
    if "finished" in facts:
        stale, patience = facts.get("stale_validations", facts.get("waited", 0)), train.get("patience", 0)
        ended = facts["finished"] >= train.get("steps", 0) or 0 < patience <= stale
        return "finished" if ended else "in progress"
    return "in progress" if "data" in facts else "imported"


def _weights(path: Path, manifest: Manifest) -> tuple[int | None, int | None]:
    """Return the number of parameters and the size of a safetensors file, which must have the size in the manifest."""
    if not path.exists() and WEIGHTS not in manifest.files:
        return None, None
    size = path.stat().st_size
    sizes = {digest.size for digest in manifest.accepted(WEIGHTS)}
    if size not in sizes:
        raise ValueError(f"{path} must have {max(sizes, default=0):,} bytes, got {size:,}")
    try:
        entries = read_tensor_entries(path)
    except ValueError as error:
        raise ValueError(f"{path} must begin with a safetensors header, got {error}") from error
    return sum(math.prod(entry.shape) for entry in entries.values()), size


def _date(run: Path) -> str:
    times = [path.stat().st_mtime for name in (WEIGHTS, METRICS, MANIFEST, RECIPE) if (path := run / name).exists()]
    return datetime.fromtimestamp(max(times, default=0), UTC).isoformat(timespec="seconds")
