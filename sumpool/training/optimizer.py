"""AdamW, and what of it a checkpoint keeps."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from sumpool.errors import CheckpointError
from sumpool.training.config import TrainConfig
from sumpool.training.trainable import freeze


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Build AdamW for what learns, with weight decay on matrices only: biases and norms have no reason to be small.

    The fused kernel is as reproducible as the plain one, and it can be told on the device to leave everything as it is.

    Args:
        model: The model; all but what is trainable is frozen from here on.
        config: The settings.

    Raises:
        RecipeError: If `trainable` names weights that the model does not have.
    """
    freeze(model, config.trainable)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        fused=True,
    )


def moments_of(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Name the optimizer's tensors after the parameters that they belong to."""
    return {
        f"{name}:{kind}": value
        for name, parameter in model.named_parameters()
        for kind, value in optimizer.state.get(parameter, {}).items()
    }


def set_moments(optimizer: torch.optim.Optimizer, model: nn.Module, saved: Mapping[str, Tensor]) -> None:
    """Give the optimizer the tensors that `moments_of` took from its like.

    Raises:
        CheckpointError: If they belong to other parameters.
    """
    state: dict[Tensor, dict[str, Tensor]] = {}
    parameters = dict(model.named_parameters())
    for key, value in saved.items():
        name, _, kind = key.rpartition(":")
        parameter = parameters.get(name)
        if parameter is None or (value.dim() and value.shape != parameter.shape):
            raise CheckpointError(f"the optimizer's {key} {tuple(value.shape)} must belong to a parameter of the model")
        # A copy: what was loaded lies in a mapped file, where a tensor may begin at any byte.
        state.setdefault(parameter, {})[kind] = value.to(parameter.device, copy=True)
    optimizer.state.clear()
    optimizer.state.update(state)
