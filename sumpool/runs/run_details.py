"""Description of one run: its recipe, data, validation curve, sample summaries and evaluations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from sumpool.data.report import REPORT_FILE, DataReport
from sumpool.errors import CheckpointError, DataError
from sumpool.io.manifest import Manifest
from sumpool.runs.run_summary import (
    MEASURES,
    METRICS,
    RunSummary,
    evaluations,
    read_recipe,
    read_records,
    run_folders,
    summarize_run,
)
from sumpool.training.journal import SAMPLES

_OF_SUMMARIES = ("model.target_length", "model.decoder.layers", "model.output")
"""Settings that a classifier does not use."""
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
"""Characters of a curve at most."""


@dataclass(frozen=True)
class RunDetails:
    """Description of a run.

    Attributes:
        summary: State, scores and size.
        recipe: Principal settings by path.
        data: Facts about the data by name; empty if the run has no data report.
        validations: Step, loss in nats per token and scores of each validation.
        samples: Sample summaries of the last validation.
        systems: Mean ROUGE, F1 from 0 to 100, by split, system and measure, over all documents.
    """

    summary: RunSummary
    recipe: Mapping[str, str]
    data: Mapping[str, str]
    validations: Sequence[Mapping[str, float]]
    samples: Sequence[Mapping[str, Any]]
    systems: Mapping[str, Mapping[str, Mapping[str, float]]]


def describe_run(run: Path) -> RunDetails:
    """Describe a run after verifying all its files.

    Raises:
        CheckpointError: If the folder is no run folder.
    """
    if run_folders(run)[:1] != [run]:
        raise CheckpointError(f"{run} must be a run folder, got no recipe in it; `sumpool runs` lists runs")
    summary = summarize_run(run)
    if summary.state == "damaged":
        return RunDetails(summary, {}, {}, (), (), {})
    try:
        manifest = Manifest.read(run)
        manifest.verify(run, manifest.files)
    except CheckpointError as error:
        summary = replace(summary, state="damaged", problem=str(error))
    records = read_records(run / METRICS, "validation")
    samples = read_records(run / SAMPLES, "sample")
    last = max((sample["step"] for sample in samples), default=0)
    tree = read_recipe(run)
    return RunDetails(
        summary=summary,
        recipe=_settings(tree),
        data=_data(run, tree),
        validations=[_numbers(record) for record in records],
        samples=[sample for sample in samples if sample["step"] == last],
        systems={split: _systems(report) for split, report in evaluations(run) if "rows" in report},
    )


def sparkline(values: Sequence[float]) -> str:
    """Draw a curve in one line of text; a long one is averaged to 60 characters."""
    if len(values) > _WIDTH:
        edges = [round(number * len(values) / _WIDTH) for number in range(_WIDTH + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((value - low) * scale)] for value in values)


def _settings(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the principal settings of a recipe as text."""
    data, model, train = (tree.get(name) or {} for name in ("data", "model", "train"))
    source, schedule = data.get("source") or {}, train.get("schedule") or {}
    vocabulary = data.get("vocabulary")
    paths = (source[name] for name in ("path", "train", "validation", "test") if name in source)
    settings = {
        "task": tree.get("task"),
        "seed": tree.get("seed"),
        "data.source": " ".join([source.get("kind", "none"), *paths]),
        "data.prepared": data.get("prepared"),
        "model.dim": model.get("dim"),
        "model.source_length": model.get("source_length"),
        "model.target_length": model.get("target_length"),
        "data.vocabulary": vocabulary if isinstance(vocabulary, str) else None,  # a number is in the data report
        "model.length": model.get("length"),
        "model.layers": model.get("layers"),
        "model.boundaries": [level.get("kind") for level in model.get("boundaries") or ()] or None,
        "model.encoder": "; ".join(map(_layer, model.get("encoder") or ())),
        "model.decoder.layers": (model.get("decoder") or {}).get("layers"),
        "model.output": (model.get("output") or {}).get("kind"),
        "train.steps": train.get("steps"),
        "train.batch_tokens": train.get("batch_tokens"),
        "train.learning_rate": train.get("learning_rate"),
        "train.schedule": schedule.get("kind"),
        "train.select_by": train.get("select_by"),
        "train.init_from": train.get("init_from"),
    }
    unused = _OF_SUMMARIES if "classifier" in model else ()
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in settings.items()
        if value is not None and value != "" and name not in unused
    }


def _layer(layer: Mapping[str, Any]) -> str:
    attention, pool = layer.get("attention") or {}, layer.get("pool")
    sizes = [str(attention[name]) for name in ("block", "window", "rank") if name in attention]
    text = " ".join([str(attention.get("kind")), *sizes])
    return f"{text}, {' '.join([str(pool.get('kind')), str(pool.get('keep', ''))]).strip()}" if pool else text


def _data(run: Path, tree: Mapping[str, Any]) -> dict[str, str]:
    """Return facts of the data report as text; nothing of a run without one, such as an imported model."""
    try:
        return DataReport.load(run).facts()
    except DataError:
        if "task" not in tree or not (run / REPORT_FILE).is_file():
            return {}
    # Imported here, as other reports are those of language models, whose package needs torch.
    from sumpool.recipe.task import find_task

    try:
        return find_task(tree["task"]).load_report(run).facts()
    except (DataError, ValueError):
        return {}


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in record.items() if isinstance(value, int | float) and name != "best"}


def _systems(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        row["system"]: {name: 100 * row["rouge"][name]["mean"] for name in MEASURES if name in row["rouge"]}
        for row in report["rows"]
        if row.get("slice") == "all"
    }
