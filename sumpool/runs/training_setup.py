"""Training setup: prepared data and a model with its initial weights, and the cost of an update of it."""

import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sumpool.data.batches import TrainingData
from sumpool.data.report import PreparedReport
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.schema import BaseRecipe
from sumpool.recipe.task import find_task
from sumpool.text.tokenizer import Tokenizer, load_tokenizer
from sumpool.training.config import TrainConfig
from sumpool.training.hardware import peak, reproducible
from sumpool.training.update import Updater


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
    prepared, data_report = task.prepare(recipe, report=report, check=check)
    tokenizer = load_tokenizer(prepared)
    data = task.open_data(recipe, prepared, tokenizer)
    torch.manual_seed(recipe.seed)
    model = task.build_model(recipe, prepared, tokenizer)
    model.checkpoint_activations(recipe.train.checkpoint_activations)  # type: ignore[operator] # of each model
    setup = TrainingSetup(prepared, data_report, tokenizer, data, model)
    for note in task.warnings(recipe, setup):
        report(Progress("train", note=note))
    return setup


@dataclass(frozen=True)
class DryRun:
    """Cost of an update with the longest batch.

    Attributes:
        parameters: Number of trained parameters.
        documents: Documents of the batch.
        source_tokens: Tokens of its longest document.
        target_tokens: Tokens of its longest summary, EOS included.
        seconds: Time of an update of such batches.
        peak_memory: Bytes that an update needs beside weights and moments; None if unknown.
        device: The device.
    """

    parameters: int
    documents: int
    source_tokens: int
    target_tokens: int
    seconds: float
    peak_memory: int | None
    device: str


def measure_update(
    model: nn.Module,
    data: TrainingData,
    config: TrainConfig,
    device: torch.device,
    report: Report,
    check: Check = no_op,
) -> DryRun:
    """Measure an update with the longest batch of the first epoch, at a learning rate of 0.

    Raises:
        RecipeError: If the settings do not fit the model.
        ResourceError: If memory runs out.
        Interrupted: If a signal has come.
    """
    model = model.to(device)
    lengths = data.lengths(data.training)
    first = data.epochs(config.batch_tokens)(0)
    # the batch with the longest document; of several, the largest
    batch = data.batch(data.training, max(first, key=lambda indices: (lengths[indices].max(), len(indices))))
    updater = Updater(model, config, device, data.teacher)

    def update() -> None:
        updater.update([batch], rate=0.0).read()

    report(Progress("dry run", note="trying the longest batch"))
    with reproducible(device):
        update()  # the first update also allocates memory and selects kernels
        check()
        start = time.perf_counter()
        memory = peak(update, device)
        seconds = time.perf_counter() - start
    assert batch.target is not None
    return DryRun(
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        documents=len(batch.documents),
        source_tokens=batch.ids.size(-1),
        target_tokens=batch.target.size(1),
        seconds=seconds * config.accumulate,
        peak_memory=memory,
        device=str(device),
    )
