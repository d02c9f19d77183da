"""`sumpool train sweep.yaml`: several recipes under one budget in, one table out."""

import copy
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any, Self

import numpy as np
import torch
from pydantic import Field, TypeAdapter, model_validator

from sumpool.core.nn.layers import SkipInit
from sumpool.data.config import Split
from sumpool.errors import CheckpointError, DataError, Interrupted, RecipeError, SumpoolError, is_out_of_memory
from sumpool.evaluation.rouge import TITLES
from sumpool.evaluation.scores import SCORES, read_scores
from sumpool.evaluation.statistics import Estimate, compare_all, estimate, not_separated
from sumpool.evaluation.task import Results
from sumpool.io.atomic import disk_errors, replace_file, temporary_path
from sumpool.io.bounded import read_json
from sumpool.io.json_lines import read_records
from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import RUNS, Manifest
from sumpool.io.replaceable import begin_folder, other_content, replace_listed_file
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.load import assign, format_value, list_problems, override_all, read_tree, recipe_schema, validate
from sumpool.recipe.schema import DEFAULT, Recipe
from sumpool.recipe.task import find_task
from sumpool.runs.run_folder import evaluation_folder
from sumpool.runs.training_setup import DryRun
from sumpool.settings import Settings
from sumpool.text.cleaning import escape_line, escape_markdown_line, markdown_table
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.hardware import choose_device
from sumpool.training.journal import JOURNAL, Journal
from sumpool.workflows.train import dry_run, train

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")


class Sweep(Settings):
    """Settings of a sweep file."""

    sweep: str = Field(pattern=rf"^{_NAME.pattern}$")
    """Name of the sweep and of the folder of its runs."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1,), min_length=1)
    """Seeds; every row is trained once per seed."""
    source_tokens: int = Field(ge=1, le=10**15)
    """Source tokens that each run trains on, without padding; determines the number of updates."""
    split: Split = "validation"
    """Split whose documents are summarised and scored."""
    recipe: dict[str, Any]
    """Complete recipe without name, seed and train.steps."""
    rows: dict[str, dict[str, Any] | None]
    """Rows by name: settings changed in `recipe`, as values by path."""

    @model_validator(mode="after")
    def _has_different_runs(self) -> Self:
        if not self.rows:
            raise ValueError("rows must name one row at least, got {}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must be different, got {list(self.seeds)}")
        return self


@dataclass(frozen=True)
class LoadedSweep:
    """Settings of a sweep, and its rows in the order of the file; the sweep replaces their seed and train.steps."""

    settings: Sweep
    rows: tuple[Recipe, ...]


def load_sweep(path: Path, overrides: Sequence[str] = (), tree: dict[str, Any] | None = None) -> LoadedSweep:
    """Load a sweep and the recipes of all rows.

    Args:
        path: The YAML file.
        overrides: Settings of the sweep, such as `seeds=[1]`, or of the recipes of all rows, such as `train.clip=0.5`.
        tree: Content of the file, if it has been read; changed in place.

    Raises:
        RecipeError: If the file cannot be read or any setting is invalid; lists the problems of all rows.
    """
    tree = read_tree(path) if tree is None else tree
    of_sweep = [override for override in overrides if re.split(r"\W", override)[0] in Sweep.model_fields]
    of_rows = [override for override in overrides if override not in of_sweep]
    problems = override_all(tree, of_sweep)
    sweep = validate(Sweep, tree, problems)
    if not sweep:
        raise RecipeError(list_problems(path, problems))
    # Problems of the recipe that all rows share are reported once instead of for every row.
    base = {"name": sweep.sweep, **copy.deepcopy(sweep.recipe)}
    row_problems = override_all(base, of_rows)
    shared = _validate(base)[1]
    row_problems += [f"recipe: {problem}" for problem in shared]
    rows = []
    for name, changes in sweep.rows.items():
        row_tree = copy.deepcopy(base)
        wrong = [] if _NAME.fullmatch(name) else [f"its name must match {_NAME.pattern}, got {format_value(name)}"]
        for setting, value in (changes or {}).items():
            try:
                assign(row_tree, setting, copy.deepcopy(value))
            except ValueError as error:
                wrong.append(f"{setting}: {error}")
        recipe, invalid = _validate(row_tree)
        wrong += [problem for problem in invalid if problem not in shared]
        row_problems += [f"rows.{name}: {problem}" for problem in wrong]
        if recipe:
            data = recipe.data.model_copy(update={"prepared": recipe.prepared_folder})  # of the sweep's name
            rows.append(recipe.model_copy(update={"name": name, "data": data}))
    problems += row_problems or [
        f"rows.{row.name}: data must be the same in every row, got others than in {rows[0].name}"
        for row in rows
        if row.data != rows[0].data
    ]
    if problems:
        raise RecipeError(list_problems(path, problems))
    return LoadedSweep(sweep, tuple(rows))


def _validate(tree: dict[str, Any]) -> tuple[Recipe | None, list[str]]:
    """Return the recipe, None if invalid, and its problems."""
    train = tree.get("train")
    problems = []
    if "seed" in tree:
        problems.append("seed must be left to the sweep's seeds")
    if isinstance(train, dict) and "steps" in train:
        problems.append("train.steps must be left to the sweep's source_tokens")
    try:
        schema = recipe_schema(tree.get("task", DEFAULT))
    except ValueError as error:
        return None, [*problems, str(error)]
    schema = schema if issubclass(schema, Recipe) else Recipe  # which says that rows read documents
    return validate(schema, tree, problems), problems


TABLES = ("table.md", "table.json")
DRY_RUN = "dry_run.json"
"""File of a run folder with the cost of an update, measured once."""
_LABEL = TypeAdapter(dict[str, Any])
_NOTES = (
    "±: half of the range over the seeds; [ ]: 95 % interval over documents, whose scores are means over the seeds",
    "not separated from: rows whose first score does not differ with p < .05, by the paired permutation test over "
    "seeds and documents, corrected for all pairs of rows by Holm's method",
    "validation loss: nats per token, of the weights that are scored, whose exponential is the perplexity",
    "tokens/s: source tokens, median over updates; peak: an update with the longest batch, weights and moments not "
    "counted",
)


@dataclass(frozen=True)
class SweepRun:
    """A row with a seed, and its metrics when it has been tried.

    Attributes:
        row: Name of the row.
        recipe: Its recipe with the seed, the number of updates, and the data that all rows share.
        folder: Run folder.
        parameters: Number of parameters of the model.
        failure: Why it failed; empty if it finished.
        scores: For each document, F1 from 0 to 1 of every ROUGE; of a classifier, whether its label is correct, 0 or 1.
        loss: Validation loss of the weights that were scored, nats per token.
        tokens_per_second: Source tokens per second of each update.
        peak_memory: Bytes that an update needs beside weights and moments; None if unknown.
    """

    row: str
    recipe: Recipe
    folder: Path
    parameters: int
    failure: str = ""
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    loss: float = math.nan
    tokens_per_second: Sequence[float] = ()
    peak_memory: int | None = None


@dataclass(frozen=True)
class SweepTable:
    """The result of a sweep.

    Attributes:
        runs: Runs that were tried, by the name of their row; those that failed have no scores.
        scores: By row and title, the mean over the seeds that finished with its 95 % interval over documents, from 0 to
            1, and the means of each seed over documents.
        differences: Pairs of rows with the same seeds: names, difference of the first score with its 95 % interval
            over seeds and documents, and p-value (see `compare_all`).
        notes: Notes on reading the table.
    """

    runs: Mapping[str, Sequence[SweepRun]]
    scores: Mapping[str, Mapping[str, tuple[Estimate, Sequence[float]]]]
    differences: Sequence[tuple[str, str, Estimate, float]]
    notes: Sequence[str]

    def to_json(self) -> str:
        """Render the table as JSON, with unrounded values."""
        runs = [
            {
                "row": name,
                "seed": run.recipe.seed,
                "parameters": run.parameters,
                "steps": run.recipe.train.steps,
                "failure": run.failure,
                "validation_loss": None if run.failure else run.loss,
                "tokens_per_second": None if run.failure else median(run.tokens_per_second),
                "peak_memory": run.peak_memory,
            }
            for name, of_row in self.runs.items()
            for run in of_row
        ]
        scores = {
            name: {title: {**asdict(mean), "by_seed": by_seed} for title, (mean, by_seed) in of_row.items()}
            for name, of_row in self.scores.items()
        }
        differences = [(*pair, asdict(difference), p_value) for *pair, difference, p_value in self.differences]
        table = {"runs": runs, "scores": scores, "differences": differences, "notes": self.notes}
        return json.dumps(table, ensure_ascii=False, indent=2) + "\n"

    def to_markdown(self) -> str:
        """Render the table and its notes as Markdown."""
        titles, rows = self.table()
        notes = [f"- {escape_line(note)}" for note in self.notes]
        escaped = [[*cells, escape_markdown_line(" ".join(remarks.split()))] for *cells, remarks in rows]
        return "\n".join([*markdown_table([titles, *escaped]), "", *notes, ""])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return column titles and cells, with scores times 100."""
        titles = next((list(scores) for scores in self.scores.values() if scores), [])
        rows = []
        for name, runs in self.runs.items():
            failures: dict[str, list[str]] = {}
            for run in runs:
                if run.failure:
                    failures.setdefault(run.failure, []).append(str(run.recipe.seed))
            remarks = "; ".join(f"failed with seed {', '.join(seeds)}: {why}" for why, seeds in failures.items())
            finished = [run for run in runs if not run.failure]
            measures = ["-"] * (len(titles) + 4)
            if finished:
                memory = max((run.peak_memory for run in finished if run.peak_memory is not None), default=None)
                compared = any(name in pair[:2] for pair in self.differences)
                measures = [
                    f"{_spread([100 * mean for mean in by_seed], 1)} [{100 * score.low:.1f}, {100 * score.high:.1f}]"
                    for score, by_seed in self.scores[name].values()
                ]
                measures += [
                    _spread([run.loss for run in finished], 3),
                    f"{median(speed for run in finished for speed in run.tokens_per_second):,.0f}",
                    "-" if memory is None else f"{memory / 2**20:,.0f}",
                    ", ".join(not_separated(name, self.differences)) if compared else "-",
                ]
            rows.append([name, f"{runs[0].parameters:,}", *measures, remarks])
        measured = ["validation loss", "tokens/s", "peak MiB", "not separated from", "remarks"]
        return ["row", "parameters", *titles, *measured], rows


def sweep(loaded: LoadedSweep, out: Path | None = None, *, report: Report = no_op, check: Check = no_op) -> SweepTable:
    """Train and evaluate every row with every seed, or resume a sweep that was stopped.

    A run that fails becomes a row with the reason, and is tried again by the next call.

    Args:
        loaded: The sweep.
        out: Folder of the runs and of `table.md` and `table.json`, which are written after every run; runs/NAME of the
            sweep by default.
        report: Called with progress.
        check: Called where the work may stop.

    Raises:
        RecipeError: If a row does not fit the machine, no model can be built from it, or the folder holds anything
            else, or another process runs a sweep there.
        DataError: If the data cannot be used.
        ResourceError: If the disk does not take the table.
        Interrupted: If a signal has come; the work is saved.
    """
    folder, settings = out or RUNS / loaded.settings.sweep, loaded.settings
    require_sweep_folder(folder)
    with disk_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    with locked_for_writing(folder, "name another with --out"):
        # 1. Prepare the data, check the models of all rows, and count the updates that spend the budget.
        runs = plan_runs(loaded, folder, report, check)
        with disk_errors(folder):
            begin_folder(folder, "sweep")
        # 2. Train and evaluate one run after the other, and write the table after each.
        tried: list[SweepRun] = []
        for number, run in enumerate(runs):
            report(Progress("sweep", number, len(runs), note=f"{run.recipe.name}: run {number + 1} of {len(runs)}"))
            tried.append(_attempt(run, settings.split, report, check))
            if tried[-1].failure:
                report(Progress("sweep", note=f"{run.recipe.name} failed: {tried[-1].failure}"))
            documents = max(len(run.scores) for run in tried)
            budget = (
                f"every run reads {settings.source_tokens:,} source tokens, padding not counted; seeds "
                f"{', '.join(map(str, settings.seeds))}; {documents:,} documents of {settings.split} are scored"
            )
            table = tabulate(tried, loaded.rows[0].evaluate.resamples, (budget, *_NOTES))
            with disk_errors(folder):
                for name, text in zip(TABLES, (table.to_markdown(), table.to_json()), strict=True):
                    temporary_path(folder / name).write_text(text, "utf-8")
                    replace_listed_file(folder / name, {}, "sweep")
        report(Progress("sweep", len(runs), len(runs)))
    return table


def forecast(
    loaded: LoadedSweep, *, report: Report = no_op, check: Check = no_op
) -> list[tuple[SweepRun, DryRun | None, str]]:
    """Measure an update of every row with its first seed; no run folder is made.

    Returns:
        The runs, each with the cost of an update with its longest batch, or with the reason why that failed.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it.
        DataError: If the data cannot be used.
        Interrupted: If a signal has come.
    """
    measured: dict[str, tuple[DryRun | None, str]] = {}
    runs = plan_runs(loaded, RUNS / loaded.settings.sweep, report, check)
    for run in runs:
        if run.row not in measured:
            report(Progress("sweep", note=f"trying {run.row}"))
            try:
                measured[run.row] = dry_run(run.recipe, report=report, check=check), ""
            except Exception as error:
                measured[run.row] = None, _failure(error)
    return [(run, *measured[run.row]) for run in runs]


def plan_runs(loaded: LoadedSweep, folder: Path, report: Report, check: Check) -> list[SweepRun]:
    """Prepare the data unless that is done, check every row against it and the machine, and count its updates.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it; names all such rows.
        DataError: If the data cannot be used.
        Interrupted: If a signal has come.
    """
    task = find_task(loaded.rows[0].task)
    prepared, _ = task.prepare(loaded.rows[0], report=report, check=check)
    tokenizer = load_tokenizer(prepared)
    runs, problems = [], []
    for row in loaded.rows:
        settings = row.train
        try:
            choose_device(settings.device)
            with torch.device("meta"), SkipInit():
                model = task.build_model(row, prepared, tokenizer)
        except (ValueError, RecipeError) as error:
            problems.append(f"rows.{row.name}: {error}")
            continue
        parameters = sum(parameter.numel() for parameter in model.parameters())
        data = task.open_data(row, prepared, tokenizer)
        for seed in loaded.settings.seeds:
            # the fewest updates that read the budget of tokens
            steps = replace(data, seed=seed).updates_for(
                loaded.settings.source_tokens, settings.batch_tokens, settings.accumulate
            )
            name = f"{row.name}-seed{seed}"
            changes = {
                "name": name,
                "seed": seed,
                "data": row.data.model_copy(update={"prepared": prepared}),
                "train": settings.model_copy(update={"steps": steps}),
            }
            runs.append(SweepRun(row.name, row.model_copy(update=changes), folder / name, parameters))
    if problems:
        raise RecipeError("\n  - ".join([f"{len(problems)} rows cannot be trained", *problems]))
    return runs


def _attempt(run: SweepRun, split: Split, report: Report, check: Check) -> SweepRun:
    """Train and evaluate one run; an error of this run alone becomes its reason to fail."""
    recipe, folder, path = run.recipe, run.folder, evaluation_folder(run.folder, split) / SCORES
    try:
        train(recipe, folder, report=report, check=check)  # does nothing for a finished run
        if not (folder / DRY_RUN).exists():
            cost = dry_run(recipe, report=report, check=check)
            with disk_errors(folder):
                replace_file(folder / DRY_RUN, json.dumps(asdict(cost)).encode())
        evaluate = partial(find_task(recipe.task).evaluate, [folder], split, overrides=(), limit=None)
        try:
            evaluate(results=Results(resume=True), report=report, check=check)
        except DataError:  # other settings of the recipe
            evaluate(results=Results(), report=report, check=check)
        if "accuracy" in recipe.selection_measures:
            scores: dict[str, tuple[float, ...]] = {id: (correct,) for id, correct in read_correct(path).items()}
        else:
            rouge = {document.id: document.systems["model"].rouge for document in read_scores(path)}
            scores = {id: tuple(values[name].f1 for name in TITLES) for id, values in rouge.items()}
        updates = [record for record in Journal(folder / JOURNAL).read() if record["kind"] == "step"]
        return replace(
            run,
            scores=scores,
            loss=Manifest.read(folder).facts["validation_loss"],
            tokens_per_second=[record["tokens_per_second"] for record in updates],
            peak_memory=read_json(folder / DRY_RUN, CheckpointError, "delete it")["peak_memory"],
        )
    except Exception as error:
        return replace(run, failure=_failure(error))


def _failure(error: Exception) -> str:
    """Return why a run failed; an error that stops the whole sweep, an interruption or a bug, is raised again."""
    if isinstance(error, Interrupted) or not (isinstance(error, SumpoolError) or is_out_of_memory(error)):
        raise error
    return str(error) or "memory ran out"


def read_correct(path: Path) -> dict[str, float]:
    """Read for each document of an evaluated classifier whether its label is correct, 0 or 1.

    Raises:
        DataError: If a line is damaged.
    """
    rows = read_records(path, _LABEL.validate_json, "a label", "evaluate again")
    return {row["id"]: float(row["label"] == row["predicted"]) for row in rows}


def tabulate(runs: Sequence[SweepRun], resamples: int, notes: Sequence[str] = ()) -> SweepTable:
    """Aggregate all runs so far to a table, with `resamples` of the bootstrap for an interval."""
    rows: dict[str, list[SweepRun]] = {}
    for run in runs:
        rows.setdefault(run.row, []).append(run)
    scores: dict[str, dict[str, tuple[Estimate, Sequence[float]]]] = {name: {} for name in rows}
    first_scores: dict[str, dict[int, list[float]]] = {}  # of each row by seed, (documents,)
    for name, of_row in rows.items():
        finished = [run for run in of_row if not run.failure]
        if not finished:
            continue
        values = np.array([[run.scores[document] for document in finished[0].scores] for run in finished])
        documents = sorted(finished[0].scores)
        first_scores[name] = {run.recipe.seed: [run.scores[each][0] for each in documents] for run in finished}
        titles = TITLES.values() if values.shape[-1] == len(TITLES) else ["accuracy %"]
        estimates = estimate(values.mean(axis=0), resamples)  # of (documents, n)
        by_seed = values.mean(axis=1).T.tolist()  # (n, seeds)
        scores[name] = dict(zip(titles, zip(estimates, by_seed, strict=True), strict=True))
    # Rows are compared that have finished with the seeds of the first such row.
    seeds = next((sorted(by_seed) for by_seed in first_scores.values()), [])
    compared = {name: by_seed for name, by_seed in first_scores.items() if sorted(by_seed) == seeds}
    differences = compare_all(
        {name: np.concatenate([by_seed[seed] for seed in seeds]) for name, by_seed in compared.items()}
    )
    return SweepTable(rows, scores, differences, tuple(notes))


def _spread(values: Sequence[float], digits: int) -> str:
    """Format the mean and, with several seeds, half of the range."""
    mean = f"{fmean(values):,.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ±{(max(values) - min(values)) / 2:,.{digits}f}"


def require_sweep_folder(folder: Path) -> None:
    """Check that a folder may hold a sweep: it is new, empty, or has the manifest of a sweep, which its tables fit.

    Raises:
        RecipeError: If it is a file or holds something else; nothing is changed.
    """
    reason = other_content(folder, "sweep")
    if not reason and (folder / MANIFEST).exists():
        manifest = Manifest.read(folder, "sweep")
        try:
            manifest.verify(folder, manifest.files)
        except DataError as error:
            reason = str(error)
        unlisted = [name for name in TABLES if os.path.lexists(folder / name) and not manifest.accepted(name)]
        reason = next(iter(unlisted), reason)
    if reason:
        raise RecipeError(
            f"{folder} must be new, empty or the folder of a sweep, got {reason}: name another with --out"
        )
