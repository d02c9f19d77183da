"""`sumpool train sweep.yaml`: several recipes under one budget in, one table out."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from sumpool.data.sources._base import Split
from sumpool.errors import DataError, Interrupted, SumpoolError, is_out_of_memory
from sumpool.evaluation.task import Results
from sumpool.inference.model_choice import RUNS
from sumpool.io.atomic import disk_errors
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.schema import Recipe
from sumpool.recipe.sweep import LoadedSweep
from sumpool.recipe.task import find_task
from sumpool.runs.run_metrics import DRY_RUN, RunMetrics, read_run_metrics, save_dry_run
from sumpool.runs.sweep_folder import claim_sweep, locked_sweep, save_tables
from sumpool.runs.sweep_plan import Forecast, PlannedRun, plan_runs
from sumpool.runs.sweep_table import HOW_TO_READ, Outcome, SweepTable, tabulate
from sumpool.workflows.train import dry_run, train


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
    folder = out or RUNS / loaded.settings.sweep
    with locked_sweep(folder):
        return _sweep(loaded, folder, report, check)


def _sweep(loaded: LoadedSweep, folder: Path, report: Report, check: Check) -> SweepTable:
    """Train and evaluate the runs of a sweep in its locked folder."""
    settings = loaded.settings
    target = None if settings.target_loss == "auto" else settings.target_loss
    resamples = loaded.rows[0].evaluate.resamples
    # 1. Prepare the data, check the models of all rows, and count the updates that spend the budget.
    runs = plan_runs(loaded, folder, report, check)
    with disk_errors(folder):
        claim_sweep(folder)
    # 2. Train and evaluate one run after the other, and write the table after each.
    outcomes: list[Outcome] = []
    table = tabulate(outcomes, target, resamples, columns=loaded.columns)
    for number, run in enumerate(runs):
        report(Progress("sweep", number, len(runs), note=f"{run.recipe.name}: run {number + 1} of {len(runs)}"))
        outcomes.append(_attempt(run, settings.split, report, check))
        if outcomes[-1].failure:
            report(Progress("sweep", note=f"{run.recipe.name} failed: {outcomes[-1].failure}"))
        table = tabulate(outcomes, target, resamples, _notes(loaded, outcomes), columns=loaded.columns)
        with disk_errors(folder):
            save_tables(folder, {"table.md": table.to_markdown(), "table.json": table.to_json()})
    report(Progress("sweep", len(runs), len(runs)))
    return table


def forecast(loaded: LoadedSweep, *, report: Report = no_op, check: Check = no_op) -> list[Forecast]:
    """Measure an update of every row with its first seed; no run folder is made.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it.
        DataError: If the data cannot be used.
        Interrupted: If a signal has come.
    """
    forecasts: list[Forecast] = []
    for run in plan_runs(loaded, RUNS / loaded.settings.sweep, report, check):
        if forecasts and forecasts[-1].run.row == run.row:
            forecasts.append(replace(forecasts[-1], run=run))
            continue
        report(Progress("sweep", note=f"trying {run.row}"))
        try:
            forecasts.append(Forecast(run, dry_run(run.recipe, report=report, check=check)))
        except Exception as error:
            forecasts.append(Forecast(run, None, _failure(error)))
    return forecasts


def _evaluate_finished_run(
    run: Path,
    recipe: Recipe,
    split: Split,
    *,
    report: Report,
    check: Check,
) -> RunMetrics:
    """Measure a finished run for a comparison with others, or continue that; the results stay in its folder.

    Args:
        run: The run folder.
        recipe: Its recipe.
        split: Documents whose summaries are scored.
        report: Called with progress.
        check: Called where the work may stop.

    Raises:
        CheckpointError: If the folder is damaged.
        DataError: If the data cannot be used.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    # 1. Measure an update, once.
    if not (run / DRY_RUN).exists():
        save_dry_run(run, dry_run(recipe, report=report, check=check))
    # 2. Evaluate it, or continue that; other settings of the recipe start anew.
    evaluate = partial(find_task(recipe.task).evaluate, [run], split, overrides=(), limit=None)
    try:
        evaluate(results=Results(resume=True), report=report, check=check)
    except DataError:
        evaluate(results=Results(), report=report, check=check)
    # 3. Read what the files say.
    return read_run_metrics(run, split, classified="accuracy" in recipe.selection_measures)


def _attempt(run: PlannedRun, split: Split, report: Report, check: Check) -> Outcome:
    """Train and evaluate one run; an error of this run alone becomes its reason to fail."""
    recipe = run.recipe
    metrics, failure = None, ""
    try:
        train(recipe, run.folder, report=report, check=check)  # does nothing for a finished run
        metrics = _evaluate_finished_run(run.folder, recipe, split, report=report, check=check)
    except Exception as error:
        failure = _failure(error)
    return Outcome(run.row, recipe.seed, run.parameters, recipe.train.steps, metrics, failure)


def _failure(error: Exception) -> str:
    """Return why a run failed; an error that stops the whole sweep, an interruption or a bug, is raised again."""
    if isinstance(error, Interrupted) or not (isinstance(error, SumpoolError) or is_out_of_memory(error)):
        raise error
    return str(error) or "memory ran out"


def _notes(loaded: LoadedSweep, outcomes: list[Outcome]) -> list[str]:
    settings = loaded.settings
    documents = max((len(outcome.metrics.rouge) for outcome in outcomes if outcome.metrics), default=0)
    return [
        f"every run reads {settings.source_tokens:,} source tokens, padding not counted; seeds "
        f"{', '.join(map(str, settings.seeds))}; {documents:,} documents of {settings.split} are scored",
        "±: half of the range over the seeds; [ ]: 95 % interval over documents, whose scores are means over the seeds",
        *HOW_TO_READ[loaded.columns],
    ]
