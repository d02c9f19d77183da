"""Dry run: time and memory of one update with the longest batch."""

import time
from dataclasses import dataclass

import torch
from torch import nn

from sumpool.data.batches import Batch
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import TrainingData
from sumpool.training.hardware import autocast, peak, reproducible
from sumpool.training.update import Updater


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
        evaluation_speed: Source tokens per second of a forward pass that scores such a batch; None if unknown.
    """

    parameters: int
    documents: int
    source_tokens: int
    target_tokens: int
    seconds: float
    peak_memory: int | None
    device: str
    evaluation_speed: float | None = None


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
    batch = data.batch(data.training, data.plan(config.batch_tokens).longest())
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
        check()
        speed = _evaluation_speed(model, batch, updater)
    assert batch.target is not None
    return DryRun(
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        documents=len(batch.documents),
        source_tokens=batch.ids.size(-1),
        target_tokens=batch.target.size(1),
        seconds=seconds * config.accumulate,
        peak_memory=memory,
        device=str(device),
        evaluation_speed=speed,
    )


@torch.no_grad()
def _evaluation_speed(model: nn.Module, batch: Batch, updater: Updater) -> float:
    """Source tokens per second of a forward pass in evaluation, the second of two."""
    model.eval()
    batch = batch.to(updater.device)
    seconds = 0.0
    for _ in range(2):
        start = time.perf_counter()
        with autocast(updater.device, updater.precision):
            scores, *_ = model(
                batch.ids, batch.mask, batch.sentences, batch.target, batch.phrases, lengths=batch.lengths
            )
        float(scores.log_prob.sum())  # waits for the device
        seconds = time.perf_counter() - start
    return int(batch.mask.sum()) / seconds
