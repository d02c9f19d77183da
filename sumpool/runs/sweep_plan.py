"""Plan of a sweep: every row with every seed, checked before the first run begins."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from sumpool.core.nn.execution import SkipInit
from sumpool.errors import RecipeError
from sumpool.progress import Check, Report
from sumpool.recipe.schema import Recipe
from sumpool.recipe.sweep import LoadedSweep
from sumpool.recipe.task import find_task
from sumpool.runs.dry_run import DryRun
from sumpool.text.load import load_tokenizer
from sumpool.training.data_order import TrainingData
from sumpool.training.hardware import choose_device


@dataclass(frozen=True)
class PlannedRun:
    """A row with a seed; the recipe has the seed, the number of updates, and the data that all rows share."""

    row: str
    recipe: Recipe
    folder: Path
    parameters: int


@dataclass(frozen=True)
class Forecast:
    """Cost of an update of a planned run with its longest batch, or why that failed."""

    run: PlannedRun
    cost: DryRun | None
    failure: str = ""


def plan_runs(loaded: LoadedSweep, folder: Path, report: Report, check: Check) -> list[PlannedRun]:
    """Prepare the data unless that is done, check every row against it and the machine, and count its updates.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it; names all such rows.
        DataError: If the data cannot be used.
        Interrupted: If a signal has come.
    """
    first = loaded.rows[0]
    task = find_task(first.task)
    prepared, _ = task.prepare(first, skip_bad_rows=False, report=report, check=check)
    tokenizer = load_tokenizer(prepared)
    runs, problems = [], []
    for row in loaded.rows:
        try:
            choose_device(row.train.device)
            with torch.device("meta"), SkipInit():
                model = task.build_model(row, prepared, tokenizer)
        except (ValueError, RecipeError) as error:
            problems.append(f"rows.{row.name}: {error}")
            continue
        data = task.open_data(row, prepared, tokenizer)
        for seed in loaded.settings.seeds:
            recipe = _recipe(row, seed, prepared, loaded.settings.source_tokens, replace(data, seed=seed))
            parameters = sum(parameter.numel() for parameter in model.parameters())
            runs.append(PlannedRun(row.name, recipe, folder / recipe.name, parameters))
    if problems:
        raise RecipeError("\n  - ".join([f"{len(problems)} rows cannot be trained", *problems]))
    return runs


def _recipe(row: Recipe, seed: int, prepared: Path, source_tokens: int, data: TrainingData) -> Recipe:
    """Set the seed, the shared data, and the fewest updates that read the budget of tokens."""
    train = row.train
    steps = data.updates_for(source_tokens, train.batch_tokens, train.accumulate)
    return row.model_copy(
        update={
            "name": f"{row.name}-seed{seed}",
            "seed": seed,
            "data": row.data.model_copy(update={"prepared": prepared}),
            "train": train.model_copy(update={"steps": steps}),
        }
    )
