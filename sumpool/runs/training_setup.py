"""Training setup: prepared data and a model with its initial weights, before the first update."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sumpool.data.report import PreparedReport
from sumpool.progress import Check, Progress, Report
from sumpool.recipe.schema import BaseRecipe
from sumpool.recipe.task import find_task
from sumpool.text.load import load_tokenizer
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.config import MIN_SELECTION_DOCUMENTS, TrainConfig
from sumpool.training.data_order import TrainingData


@dataclass(frozen=True)
class TrainingSetup:
    """Everything that training needs besides the settings; the model is on the CPU."""

    prepared: Path
    data_report: PreparedReport
    tokenizer: Tokenizer
    data: TrainingData
    model: nn.Module


def set_up_training(recipe: BaseRecipe, report: Report, check: Check) -> TrainingSetup:
    """Prepare the data unless that is done, and build the model; the same seed gives the same initial weights.

    Raises:
        DataError: If the data cannot be used.
        RecipeError: If the recipe does not fit the data.
        ResourceError: If memory or disk runs out.
        Interrupted: If a signal has come.
    """
    task = find_task(recipe.task)
    prepared, data_report = task.prepare(recipe, skip_bad_rows=False, report=report, check=check)
    tokenizer = load_tokenizer(prepared)
    data = task.open_data(recipe, prepared, tokenizer)
    torch.manual_seed(recipe.seed)
    model = task.build_model(recipe, prepared, tokenizer)
    model.checkpoint_activations(recipe.train.checkpoint_activations)  # type: ignore[operator] # of each model
    setup = TrainingSetup(prepared, data_report, tokenizer, data, model)
    for note in task.warnings(recipe, setup):
        report(Progress("train", note=note))
    return setup


def training_warnings(train: TrainConfig, data: TrainingData) -> Iterator[str]:
    """Warn of documents that are never read, and of a selection by few documents."""
    epoch = math.ceil(len(data.plan(train.batch_tokens).batches(0)) / train.accumulate)
    if 0 < train.steps < epoch:
        yield (
            f"warning: train.steps = {train.steps:,} ends after {percent(train.steps / epoch)} of the first epoch, "
            f"which has {epoch:,} updates; the other training documents are never read"
        )
    name = "rouge_documents" if train.select_by.startswith("rouge") else "validate_documents"
    documents = min(getattr(train, name), len(data.validation))
    if train.select_by != "loss" and documents < MIN_SELECTION_DOCUMENTS:
        yield (
            f"warning: {train.select_by} of {documents} validation documents is too uncertain to select by, see its "
            f"standard error (±); train.{name} and the validation split should have {MIN_SELECTION_DOCUMENTS} "
            "or more"
        )


def percent(share: float) -> str:
    """Render a share that is not rounded to 0 or 100 %."""
    return f"{min(max(share, 0.001), 0.999):.1%}" if 0 < share < 1 else f"{share:.0%}"
