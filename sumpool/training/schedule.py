"""The learning rate as a pure function of the step, so that there is nothing to save."""

import math

from sumpool.training.config import ScheduleConfig


def factor(step: int, config: ScheduleConfig, steps: int) -> float:
    """Give the share of the peak learning rate that an update is made with.

    The warm-up climbs in equal parts and reaches the peak at step `warmup`, so that the first update is small.

    Args:
        step: Updates made so far.
        config: Shape of the schedule.
        steps: Updates of the whole run; only cosine and linear depend on it.

    Returns:
        A number in [0, 1].
    """
    if step < config.warmup:
        return (step + 1) / (config.warmup + 1)
    progress = min(1.0, (step - config.warmup) / max(1, steps - config.warmup))
    match config.kind:
        case "constant":
            return 1.0
        case "inverse_sqrt":
            return math.sqrt((config.warmup + 1) / (step + 1))
        case "cosine":
            return config.floor + (1 - config.floor) * (1 + math.cos(math.pi * progress)) / 2
        case "linear":
            return config.floor + (1 - config.floor) * (1 - progress)
