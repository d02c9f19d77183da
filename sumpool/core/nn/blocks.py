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
        self.before = norm == "pre"

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `sublayer` to states (..., dim)."""
        if self.before:
            summed: Tensor = states + self.dropout(sublayer(self.norm(states)))
        else:
            summed = self.norm(states + self.dropout(sublayer(states)))
        return summed
