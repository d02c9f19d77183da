"""Notes before training: settings that waste documents or select by noise, and the end of a run that is moved."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sumpool.data.shards import Shard
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import Manifest
from sumpool.recipe.language_model import load_any_recipe
from sumpool.recipe.schema import Recipe, RunRecipe
from sumpool.runs.run_folder import ENDLESS_SCHEDULES, RECIPE
from sumpool.training.config import MIN_SELECTION_DOCUMENTS
from sumpool.training.data_order import TrainingData
from sumpool.training.optimizer import schedule_factor


def training_warnings(recipe: Recipe, training: Shard, data: TrainingData) -> Iterator[str]:
    """Warn of references that are cut, of documents that are never read, and of a selection by few documents."""
    train, target_length = recipe.train, recipe.model.target_length
    tokens = training.target_lengths + 1  # with EOS
    share = float(np.mean(tokens > target_length))
    if share:
        yield (
            f"warning: {_percent(share)} of the training summaries have more than model.target_length = "
            f"{target_length} tokens and are cut; the longest has {tokens.max():,}"
        )
    epoch = math.ceil(len(data.plan(train.batch_tokens).batches(0)) / train.accumulate)
    if 0 < train.steps < epoch:
        yield (
            f"warning: train.steps = {train.steps:,} ends after {_percent(train.steps / epoch)} of the first epoch, "
            f"which has {epoch:,} updates; the other training documents are never read"
        )
    name = "validate_documents" if recipe.task == "classification" else "rouge_documents"
    documents = min(getattr(train, name), len(data.validation))
    if train.select_by != "loss" and documents < MIN_SELECTION_DOCUMENTS:
        yield (
            f"warning: {train.select_by} of {documents} validation documents is too uncertain to select by, see its "
            f"standard error (±); train.{name} and the validation split should have {MIN_SELECTION_DOCUMENTS} "
            "or more"
        )


def extension_note(run: Path, recipe: RunRecipe) -> str:
    """Describe how the end of a run in a folder is moved by a raised `train.steps`; empty if it is not."""
    if not (run / MANIFEST).is_file() or not Manifest.read(run).files:
        return ""
    before, after, schedule = load_any_recipe(run / RECIPE).train.steps, recipe.train.steps, recipe.train.schedule
    if after <= before or not before:
        return ""
    note = f"train.steps is raised from {before:,} to {after:,}"
    if schedule.kind in ENDLESS_SCHEDULES:
        return f"{note}; the result is that of an uninterrupted run"
    old, new = (recipe.train.learning_rate * schedule_factor(before - 1, schedule, steps) for steps in (before, after))
    return (
        f"{note}: the {schedule.kind} schedule is now that of {after:,} steps, so that the learning rate rises from "
        f"{old:.2g} to {new:.2g}; the result is not that of an uninterrupted run"
    )


def _percent(share: float) -> str:
    """Render a share that is not rounded to 0 or 100 %."""
    return f"{min(max(share, 0.001), 0.999):.1%}" if 0 < share < 1 else f"{share:.0%}"
