"""The runs of a sweep before any of them begins: every row with every seed, checked, with the updates that it takes."""

from dataclasses import dataclass
from pathlib import Path

import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.execution import SkipInit
from sumpool.data.prepare import prepare
from sumpool.data.shards import Shard
from sumpool.errors import RecipeError
from sumpool.interruption import Check
from sumpool.progress import Report
from sumpool.recipe.schema import Recipe
from sumpool.recipe.sweep import LoadedSweep, SweepRow
from sumpool.training.data_order import TrainingData
from sumpool.training.hardware import choose_device


@dataclass(frozen=True)
class PlannedRun:
    """One row with one seed.

    Attributes:
        row: The row's name.
        recipe: Its recipe, with seed, steps and the data that all rows share.
        folder: The run folder.
        parameters: Numbers that the model learns.
    """

    row: str
    recipe: Recipe
    folder: Path
    parameters: int


def plan(loaded: LoadedSweep, folder: Path, report: Report, check: Check) -> list[PlannedRun]:
    """Prepare the data if that is not done, check every row against it and the machine, and count its updates.

    Raises:
        RecipeError: If a row does not fit the machine, or no model can be built from it; names all such rows.
        DataError: If the data cannot be used.
        Interrupted: If a signal has come.
    """
    first = loaded.rows[0].recipe
    prepared = first.prepared_folder
    vocabulary = prepare(first.data, prepared, skip_bad_rows=False, report=report, check=check).vocabulary
    shards = Shard.open(prepared, "train"), Shard.open(prepared, "validation")
    runs, problems = [], []
    for row in loaded.rows:
        try:
            parameters = _count_parameters(row, vocabulary)
        except (ValueError, RecipeError) as error:
            problems.append(f"rows.{row.name}: {error}")
            continue
        for seed in loaded.settings.seeds:
            recipe = _recipe(row, seed, prepared, loaded.settings.source_tokens, shards)
            runs.append(PlannedRun(row.name, recipe, folder / recipe.name, parameters))
    if problems:
        raise RecipeError("\n  - ".join([f"{len(problems)} rows cannot be trained", *problems]))
    return runs


def _count_parameters(row: SweepRow, vocabulary: int) -> int:
    """Build the model without memory for its numbers."""
    choose_device(row.recipe.train.device)
    with torch.device("meta"), SkipInit():
        model = SummarizationModel(row.recipe.model, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters())


def _recipe(row: SweepRow, seed: int, prepared: Path, source_tokens: int, shards: tuple[Shard, Shard]) -> Recipe:
    """Give a row its seed, the shared data, and the fewest updates that read the budget."""
    recipe, train = row.recipe, row.recipe.train
    material = TrainingData(*shards, recipe.model.source_length, recipe.model.target_length, seed)
    steps = material.updates_for(source_tokens, train.batch_tokens, train.accumulate)
    return recipe.model_copy(
        update={
            "name": f"{row.name}-seed{seed}",
            "seed": seed,
            "data": recipe.data.model_copy(update={"prepared": prepared}),
            "train": train.model_copy(update={"steps": steps}),
        }
    )
