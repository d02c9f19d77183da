"""Plan of a sweep: every row with every seed, checked before the first run begins."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sumpool.core.model.classifier import ClassificationModel
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.execution import SkipInit
from sumpool.data.labelled_batches import Pairs
from sumpool.data.labels import Labels
from sumpool.data.prepared_folder import find_or_prepare
from sumpool.data.shards import Shard
from sumpool.errors import RecipeError
from sumpool.progress import Check, Report
from sumpool.recipe.schema import Recipe
from sumpool.recipe.sweep import LoadedSweep
from sumpool.runs.dry_run import DryRun
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS
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
    default = first.prepared_folder
    prepared, data_report = find_or_prepare(first.data, default, skip_bad_rows=False, report=report, check=check)
    shards = Shard.open(prepared, "train"), Shard.open(prepared, "validation")
    runs, problems = [], []
    for row in loaded.rows:
        try:
            parameters = _count_parameters(row, data_report.vocabulary, prepared)
        except (ValueError, RecipeError) as error:
            problems.append(f"rows.{row.name}: {error}")
            continue
        for seed in loaded.settings.seeds:
            recipe = _recipe(row, seed, prepared, loaded.settings.source_tokens, shards)
            runs.append(PlannedRun(row.name, recipe, folder / recipe.name, parameters))
    if problems:
        raise RecipeError("\n  - ".join([f"{len(problems)} rows cannot be trained", *problems]))
    return runs


def _count_parameters(row: Recipe, vocabulary: int, prepared: Path) -> int:
    """Build the model on the meta device."""
    choose_device(row.train.device)
    with torch.device("meta"), SkipInit():
        model: nn.Module
        if row.task == "classification":
            model = ClassificationModel(row.model, vocabulary, len(Labels.load(prepared)))
        else:
            model = SummarizationModel(row.model, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


def _recipe(row: Recipe, seed: int, prepared: Path, source_tokens: int, shards: tuple[Shard, Shard]) -> Recipe:
    """Set the seed, the shared data, and the fewest updates that read the budget of tokens."""
    train = row.train
    towers = row.model.classifier.towers if row.model.classifier else 1
    training, validation = (part if towers == 1 else Pairs(part, DEFAULT_SPECIAL_TOKENS.pad) for part in shards)
    data = TrainingData(training, validation, row.model.source_length, row.model.target_length, seed, towers=towers)
    steps = data.updates_for(source_tokens, train.batch_tokens, train.accumulate)
    return row.model_copy(
        update={
            "name": f"{row.name}-seed{seed}",
            "seed": seed,
            "data": row.data.model_copy(update={"prepared": prepared}),
            "train": train.model_copy(update={"steps": steps}),
        }
    )
