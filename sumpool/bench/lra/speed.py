"""Time of an update, measured before a run, so that all attentions train for the same time."""

import time
from itertools import islice

import torch
from torch import nn

from sumpool.training.config import TrainConfig
from sumpool.training.data_order import Position, TrainingData, updates_from
from sumpool.training.hardware import reproducible
from sumpool.training.update import Updater

_UPDATES = 5
"""Measured updates after one that is not counted."""


def seconds_per_update(model: nn.Module, data: TrainingData, config: TrainConfig, device: torch.device) -> float:
    """Return the least time of the first updates at a learning rate of 0; the model's weights stay.

    The least of several is hardly changed by other work on the machine.

    Raises:
        RecipeError: If the settings do not fit the model.
        ResourceError: If memory runs out.
    """
    updater = Updater(model.to(device), config, device)
    seconds = []
    with reproducible(device):
        for indices, _ in islice(
            updates_from(Position(), data.plan(config.batch_tokens), config.accumulate), 1 + _UPDATES
        ):
            start = time.perf_counter()
            updater.update([data.batch(data.training, batch) for batch in indices], rate=0.0).read()
            seconds.append(time.perf_counter() - start)
    return min(seconds[1:])
