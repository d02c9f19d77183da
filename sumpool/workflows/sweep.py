"""`sumpool train sweep.yaml`: several recipes under one budget in, one table out."""

from dataclasses import dataclass
from pathlib import Path

from sumpool.data.sources._base import Split
from sumpool.errors import Interrupted, SumpoolError, is_out_of_memory
from sumpool.inference.loading import RUNS
from sumpool.interruption import Check, go_on
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.progress import Progress, Report, silent
from sumpool.recipe.sweep import LoadedSweep
from sumpool.runs.sweep_plan import PlannedRun, plan
from sumpool.runs.sweep_table import HOW_TO_READ, Outcome, SweepTable, tabulate
from sumpool.workflows.run_metrics import judge
from sumpool.workflows.train import DryRun, dry_run, train


@dataclass(frozen=True)
class Forecast:
    """What a run would take.

    Attributes:
        run: The run.
        tried: An update with its longest batch; None if that failed.
        failure: Why it failed.
    """

    run: PlannedRun
    tried: DryRun | None
    failure: str = ""


def sweep(loaded: LoadedSweep, out: Path | None = None, *, report: Report = silent, check: Check = go_on) -> SweepTable:
    """Train and evaluate every row with every seed, or go on where that stopped.

    A run that fails becomes a line with its reason, and is tried again by the next call.

    Args:
        loaded: The sweep.
        out: Folder of the runs and of `table.md` and `table.json`, which are written after every run; runs/NAME of the
            sweep by default.
        report: Hears how it goes.
        check: Called where the work may stop.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it.
        DataError: If the data cannot be used.
        ResourceError: If the disk does not take the table.
        Interrupted: If a signal has come; the work is saved.
    """
    settings, folder = loaded.settings, out or RUNS / loaded.settings.sweep
    target = None if settings.target_loss == "auto" else settings.target_loss
    resamples = loaded.rows[0].recipe.evaluate.resamples
    # 1. Data and models of all rows, and the updates that spend the budget.
    runs = plan(loaded, folder, report, check)
    # 2. One run after the other; the table is drawn up after each.
    outcomes: list[Outcome] = []
    table = tabulate(outcomes, target, resamples)
    for number, run in enumerate(runs):
        report(Progress("sweep", number, len(runs), note=f"{run.recipe.name}: run {number + 1} of {len(runs)}"))
        outcomes.append(_attempt(run, settings.split, report, check))
        if outcomes[-1].failure:
            report(Progress("sweep", note=f"{run.recipe.name} failed: {outcomes[-1].failure}"))
        table = tabulate(outcomes, target, resamples, _notes(loaded, outcomes))
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(folder / "table.md", table.to_markdown().encode())
            replace_file(folder / "table.json", table.to_json().encode())
    report(Progress("sweep", len(runs), len(runs)))
    return table


def forecast(loaded: LoadedSweep, *, report: Report = silent, check: Check = go_on) -> list[Forecast]:
    """Try an update of every row with its first seed; nothing is kept.

    Args:
        loaded: The sweep.
        report: Hears how it goes.
        check: Called where the work may stop.

    Returns:
        One for every row and seed.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it.
        DataError: If the data cannot be used.
        Interrupted: If a signal has come.
    """
    found: list[Forecast] = []
    for run in plan(loaded, RUNS / loaded.settings.sweep, report, check):
        if found and found[-1].run.row == run.row:
            found.append(Forecast(run, found[-1].tried, found[-1].failure))
            continue
        report(Progress("sweep", note=f"trying {run.row}"))
        try:
            found.append(Forecast(run, dry_run(run.recipe, report=report, check=check)))
        except Exception as error:
            found.append(Forecast(run, None, _reason(error)))
    return found


def _attempt(run: PlannedRun, split: Split, report: Report, check: Check) -> Outcome:
    """Train and judge one run; what stops this run alone becomes its reason."""
    recipe = run.recipe
    measured, failure = None, ""
    try:
        train(recipe, run.folder, report=report, check=check)  # unless it is
        measured = judge(run.folder, recipe, split, report=report, check=check)
    except Exception as error:
        failure = _reason(error)
    return Outcome(run.row, recipe.seed, run.parameters, recipe.train.steps, measured, failure)


def _reason(error: Exception) -> str:
    """Say why one run failed, or raise again what stops the sweep: an interruption, or a bug."""
    if isinstance(error, Interrupted) or not (isinstance(error, SumpoolError) or is_out_of_memory(error)):
        raise error
    return str(error) or "memory ran out"


def _notes(loaded: LoadedSweep, outcomes: list[Outcome]) -> list[str]:
    settings = loaded.settings
    documents = max((len(outcome.measured.rouge) for outcome in outcomes if outcome.measured), default=0)
    return [
        f"every run reads {settings.source_tokens:,} source tokens, padding not counted; seeds "
        f"{', '.join(map(str, settings.seeds))}; {documents:,} documents of {settings.split} are scored",
        "±: half of the range over the seeds; [ ]: 95 % interval over documents, whose scores are means over the seeds",
        *HOW_TO_READ,
    ]
