"""Time of an update, measured before a run, and the updates that a budget buys, so that all rows have equal compute.

Processor time is what the process itself used: another one on the same machine does not shorten a run. On a GPU it is
the time until an update has finished.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn

from sumpool.errors import CheckpointError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.bounded import read_json
from sumpool.progress import Check, no_op
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import Position, TrainingData, updates_from
from sumpool.training.hardware import reproducible
from sumpool.training.update import Updater

TIMES = "processor_seconds.json"
"""File with the processor time of the training of each run, in the folder of the runs."""
MEASURED = 5
"""Updates at the end of a trial that count."""
_WARMUP_SHARE = 10
"""Updates per update of warm-up at least, in runs shorter than those of the recipe."""


def seconds_per_update(model: nn.Module, data: TrainingData, config: TrainConfig, device: torch.device) -> float:
    """Return the least time of the first updates at a learning rate of 0; the model's weights stay.

    The least of several is hardly changed by other work on the machine.

    Raises:
        RecipeError: If the settings do not fit the model.
        ResourceError: If memory runs out.
    """
    return min(_trial(model, data, config, device, 1 + MEASURED, 0.0, time.perf_counter, no_op)[1:])


def trial_seconds(
    model: nn.Module, data: TrainingData, config: TrainConfig, device: torch.device, updates: int, check: Check
) -> float:
    """Return the processor seconds of an update at the end of a short trial, which changes the model's weights.

    The cost of an update follows the shortening factor, which learned boundaries change in the first updates.

    Args:
        model: A model with initial weights.
        data: Training data.
        config: Settings of training; the learning rate is constant in the trial.
        device: Device.
        updates: Updates of the trial.
        check: Called before each update.

    Raises:
        RecipeError: If the settings do not fit the model.
        ResourceError: If memory runs out.
    """
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    seconds = _trial(model, data, config, device, max(updates, MEASURED + 1), config.learning_rate, clock, check)
    return median(seconds[-MEASURED:])


def _trial(
    model: nn.Module,
    data: TrainingData,
    config: TrainConfig,
    device: torch.device,
    updates: int,
    rate: float,
    clock: Callable[[], float],
    check: Check,
) -> list[float]:
    updater = Updater(model.to(device), config, device)
    seconds = []
    with reproducible(device):
        for indices, _ in islice(updates_from(Position(), data.plan(config.batch_tokens), config.accumulate), updates):
            check()
            start = clock()
            updater.update([data.batch(data.training, batch) for batch in indices], rate=rate).read()
            seconds.append(clock() - start)
    return seconds


def with_steps(config: TrainConfig, steps: int, validations: int) -> TrainConfig:
    """Return settings of other updates, with a warm-up and at least so many validations in proportion."""
    warmup = min(config.schedule.warmup, steps // _WARMUP_SHARE)
    changes: dict[str, Any] = {
        "steps": steps,
        "schedule": config.schedule.model_copy(update={"warmup": warmup}),
        "validate_every": max(1, min(config.validate_every, steps // validations)),
    }
    return config.model_copy(update=changes)


def affordable_steps(minutes: float, seconds: float) -> int:
    """Return the updates, at least one, of some processor seconds each that a budget of minutes buys."""
    return max(1, round(60 * minutes / seconds))


@contextmanager
def clocked(run: Path) -> Iterator[None]:
    """Add the processor time of a block to that of a run, also if the block is stopped.

    Raises:
        CheckpointError: If the file of the times is damaged.
        ResourceError: If the disk is full or fails.
    """
    start = time.process_time()
    try:
        yield
    finally:
        times = read_times(run.parent)
        spent = times.get(run.name, 0.0) + time.process_time() - start
        with disk_errors(run.parent):
            run.parent.mkdir(parents=True, exist_ok=True)
            replace_file(run.parent / TIMES, json.dumps({**times, run.name: spent}, indent=2).encode())


def read_times(folder: Path) -> dict[str, float]:
    """Read the processor seconds of the runs in a folder by name; empty before the first.

    Raises:
        CheckpointError: If the file is damaged.
    """
    path = folder / TIMES
    if not path.exists():
        return {}
    times = read_json(path, CheckpointError, "delete it")
    try:
        return {str(name): float(seconds) for name, seconds in times.items()}
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path} must hold processor seconds by run, got {error}; delete it") from error
