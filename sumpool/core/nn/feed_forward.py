"""The position-wise feed-forward layer."""

from functools import partial
from typing import Literal, final

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
        # In place: no gradient needs what the first map gave.
        self.activation = partial(F.relu, inplace=True) if activation == "relu" else F.gelu

    def forward(self, states: Tensor) -> Tensor:
        """Map every vector by itself."""
        mapped: Tensor = self.narrow(self.activation(self.widen(states)))
        return mapped
