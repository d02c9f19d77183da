"""What `sumpool runs` and `sumpool show` tell about a run folder, read without loading a model."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from sumpool.data.report import DataReport
from sumpool.errors import CheckpointError, DataError, SumpoolError, first_line
from sumpool.io.bounded import check_tensor_header, parse_json, read_regular
from sumpool.io.manifest import MODEL, RECIPE, REPORT, Manifest, run_name
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.recipe.files import parse
from sumpool.training.journal import JOURNAL, MAX_BYTES, SAMPLES

RunState = Literal["finished", "in progress", "imported", "damaged"]
MEASURES = ("rouge1", "rouge2", "rougeLsum")
_OF_SUMMARIES = ("model.target_length", "model.decoder.layers", "model.output")
"""Settings that a classifier does not use."""
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
"""Characters of a curve at most."""


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
    patterns = (f"{levels}{name}" for levels in ("", "*/", "*/*/") for name in (RECIPE, JOURNAL))
    parents = {path.parent for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in parents if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def summarize_run(run: Path) -> RunSummary:
    """Summarise a run folder; a damaged one is described as far as it can be read."""
    changed = [path.stat().st_mtime for name in (MODEL, JOURNAL, MANIFEST, RECIPE) if (path := run / name).exists()]
    date = datetime.fromtimestamp(max(changed, default=0), UTC).isoformat(timespec="seconds")
    try:
        manifest = Manifest.read(run)
        tree = read_recipe(run)
        parameters, size = _weights(run / MODEL, manifest)
        validations = records_of(run / JOURNAL, "validation")
        step = max((record["step"] for record in records_of(run / JOURNAL, "step", last=True)), default=0)
    except (SumpoolError, OSError, ValueError, LookupError, TypeError) as error:
        return RunSummary(run_name(run), "", "damaged", first_line(error), date=date)
    train = tree.get("train") or {}
    best = next((record for record in validations[::-1] if record["step"] == manifest.facts.get("step")), {})
    scores, scored = _scores(run, best)
    return RunSummary(
        run=run_name(run),
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


def records_of(path: Path, kind: str, *, last: bool = False) -> list[dict[str, Any]]:
    """Read the records of one kind in a metrics log, or only the last one; lines of other kinds are not parsed."""
    if not path.exists():
        return []
    mark = f'"kind": "{kind}"'.encode()
    lines = [line for line in read_regular(path, MAX_BYTES).split(b"\n")[:-1] if mark in line]
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
        with suppress(AttributeError, KeyError, TypeError):  # of a report of another form
            factors = {"accuracy": 100, "bpc": 1}
            if "rows" in report:
                factors = dict.fromkeys(MEASURES, 100)
                report = next((row["rouge"] for row in report["rows"] if row.get("slice") == "all"), {})
            scores = {name: factor * report[name]["mean"] for name, factor in factors.items() if name in report}
            if scores:
                return scores, split
    scores = {name: validation[name] for name in MEASURES if name in validation}
    return scores, "training" if scores else ""


def _state(facts: Mapping[str, Any], train: Mapping[str, Any]) -> RunState:
    if "finished" in facts:
        stale, patience = facts.get("stale_validations", 0), train.get("patience", 0)
        ended = facts["finished"] >= train.get("steps", 0) or 0 < patience <= stale
        return "finished" if ended else "in progress"
    return "in progress" if "data" in facts else "imported"


def _weights(path: Path, manifest: Manifest) -> tuple[int | None, int | None]:
    """Return the number of parameters and the size of a safetensors file, which must have the size in the manifest."""
    if not path.exists() and MODEL not in manifest.files:
        return None, None
    size = path.stat().st_size
    sizes = {digest.size for digest in manifest.accepted(MODEL)}
    if size not in sizes:
        raise ValueError(f"{path} must have {max(sizes, default=0):,} bytes, got {size:,}")
    try:
        check_tensor_header(path)
        with safe_open(path, "numpy") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys()), size  # noqa: SIM118
    except (ValueError, SafetensorError) as error:
        raise ValueError(f"{path} must begin with a safetensors header, got {error}") from error


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
    validations = [
        {name: value for name, value in record.items() if isinstance(value, int | float) and name != "best"}
        for record in records_of(run / JOURNAL, "validation")
    ]
    systems = {
        split: {
            row["system"]: {name: 100 * row["rouge"][name]["mean"] for name in MEASURES if name in row["rouge"]}
            for row in report["rows"]
            if row.get("slice") == "all"
        }
        for split, report in evaluations(run)
        if "rows" in report
    }
    samples = records_of(run / SAMPLES, "sample")
    last = max((sample["step"] for sample in samples), default=0)
    tree = read_recipe(run)
    return RunDetails(
        summary=summary,
        recipe=_settings(tree),
        data=_data(run, tree),
        validations=validations,
        samples=[sample for sample in samples if sample["step"] == last],
        systems=systems,
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
    if not (run / REPORT).is_file():
        return {}
    try:
        if "task" not in tree:
            return DataReport.load(run).facts()
        from sumpool.recipe.task import find_task  # here, as tasks need torch

        return find_task(tree["task"]).report.load(run).facts()
    except (DataError, ValueError):
        return {}
