"""The parameters that are trained, AdamW with its moments in checkpoints, and the learning-rate schedule."""

import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from sumpool.errors import CheckpointError, RecipeError
from sumpool.training.config import ScheduleConfig, TrainConfig


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Freeze all parameters whose names match no pattern (`train.trainable`); dropout is unaffected.

    Args:
        model: Model; a shared parameter is known by its first name.
        patterns: Shell patterns, such as "decoder.*".

    Raises:
        RecipeError: If a pattern matches no parameter; the model is then unchanged.
    """
    parameters = dict(model.named_parameters())
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in parameters):
            raise RecipeError(f"train.trainable must match names of weights, got {pattern}{_hint(pattern, parameters)}")
    for name, parameter in parameters.items():
        parameter.requires_grad_(any(fnmatchcase(name, pattern) for pattern in patterns))


def _hint(pattern: str, names: Iterable[str]) -> str:
    """Suggest names of parameters and patterns for modules."""
    known: dict[str, None] = {}
    for name in names:
        parts = name.split(".")
        parents = [f"{'.'.join(parts[:count])}.*" for count in range(1, len(parts))]
        known |= dict.fromkeys([name, *parents, *(f"*.{part}.*" for part in parts[1:-1])])
    close = get_close_matches(pattern, list(known), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(close)}?)" if close else f"; names are such as {next(iter(known))}"


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Build AdamW for the parameters that are not frozen, with weight decay on matrices only (not on biases and norms).

    The fused kernel is as reproducible as the plain one, and can skip an update by a flag on the device.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.dim() >= 2]
    vectors = [parameter for parameter in parameters if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        fused=True,
    )


def moments_of(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Optimizer state by "parameter name:kind"."""
    return {
        f"{name}:{kind}": value
        for name, parameter in model.named_parameters()
        for kind, value in optimizer.state.get(parameter, {}).items()
    }


def set_moments(optimizer: torch.optim.Optimizer, model: nn.Module, saved: Mapping[str, Tensor]) -> None:
    """Load the optimizer state saved by `moments_of`.

    Raises:
        CheckpointError: If a tensor does not fit a parameter of the model.
    """
    state: dict[Tensor, dict[str, Tensor]] = {}
    parameters = dict(model.named_parameters())
    for key, value in saved.items():
        name, _, kind = key.rpartition(":")
        parameter = parameters.get(name)
        if parameter is None or (value.dim() and value.shape != parameter.shape):
            raise CheckpointError(f"the optimizer's {key} {tuple(value.shape)} must belong to a parameter of the model")
        # A copy: tensors of a memory-mapped file may be unaligned.
        state.setdefault(parameter, {})[kind] = value.to(parameter.device, copy=True)
    optimizer.state.clear()
    optimizer.state.update(state)


def schedule_factor(step: int, config: ScheduleConfig, steps: int) -> float:
    """Learning rate of an update as a fraction of the peak, in [0, 1].

    The warm-up is linear from 1 / (warmup + 1) at the first update to 1 at step `warmup`.

    Args:
        step: Updates made so far.
        config: Settings of the schedule.
        steps: Updates of the whole run; used by cosine and linear only.
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
