"""The residual sum around a sub-layer."""

from collections.abc import Callable
from typing import Literal, final

from torch import Tensor, nn

Norm = Literal["pre", "post"]


@final
class Residual(nn.Module):
    """Adds what a sub-layer finds to what it was given, normalising before it (pre) or after the sum (post)."""

    def __init__(self, dim: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `sublayer` to states (..., dim)."""
        return self.add(states, sublayer(self.prepare(states)))

    def prepare(self, states: Tensor) -> Tensor:
        """Make what the sub-layer is given."""
        prepared: Tensor = self.norm(states) if self.pre else states
        return prepared

    def add(self, states: Tensor, found: Tensor) -> Tensor:
        """Add what the sub-layer found."""
        summed: Tensor = states + (self.dropout(found) if self.training else found)  # a call saved at every step
        return summed if self.pre else self.norm(summed)
