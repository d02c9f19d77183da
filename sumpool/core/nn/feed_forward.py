"""The position-wise feed-forward layer."""

from typing import Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Activation = Literal["relu", "gelu"]


@final
class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between them: (batch, length, dim) -> the same."""

    def __init__(self, dim: int, width: int, activation: Activation) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, width)
        self.narrow = nn.Linear(width, dim)
        self.activation = _relu if activation == "relu" else F.gelu

    def forward(self, states: Tensor) -> Tensor:
        """Map every vector by itself."""
        mapped: Tensor = self.narrow(self.activation(self.widen(states)))
        return mapped


def _relu(widened: Tensor) -> Tensor:
    """Overwrite what nobody else sees; a gradient would have to copy it first, because it is a view of a product."""
    return F.relu(widened, inplace=not torch.is_grad_enabled())
