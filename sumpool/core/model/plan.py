"""How long a summary is to become: foreseen from the document, and told to the decoder at every token.

The likeliest summary is too short, and a search that is forbidden to stop writes on where nothing is left to say. With
a plan the decoder knows at every token how many are left, and comes to an end in time (after the length-difference
encoding of Takase and Okazaki, 2019, arXiv:1904.07418, whose lengths were given, not foreseen).

In training it is told the length of the reference, more or less: told it exactly, it would count instead of ending with
a sentence. Everywhere else it is told what was foreseen, also where a reference is scored.
"""

from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.nn.masking import hide
from sumpool.core.nn.positions import sinusoid
from sumpool.core.nn.precision import at_least_float32
from sumpool.core.tokens import Tokens
from sumpool.pieces import PAD

_USUAL = 4.0
"""Logarithm of the length that is foreseen before anything is learnt: 55 tokens."""
_MOST = 20.0
"""Largest such logarithm."""
_INEXACT = 0.1
"""Standard deviation of the logarithm of what a reference's length is multiplied with."""


@final
class LengthPlan(nn.Module):
    """Foresees lengths, in tokens with the end, and tells the decoder what is left of them."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.read = nn.Linear(dim, dim)
        self.foresee = nn.Linear(dim, 1)
        self.tell = nn.Linear(dim, dim)
        nn.init.constant_(self.foresee.bias, _USUAL)

    def forward(self, memory: Tokens) -> Tensor:
        """Foresee the logarithm of each document's length (batch,) from the mean vector of its memory."""
        real = memory.mask.sum(1, keepdim=True).clamp_min(1)
        mean = hide(at_least_float32(memory.states), memory.mask).sum(1) / real  # (batch, dim)
        foreseen: Tensor = self.foresee(self.read(mean.to(memory.states.dtype)).relu())
        return at_least_float32(foreseen.squeeze(1)).clamp(0, _MOST)

    def loss(self, foreseen: Tensor, target: Tensor) -> Tensor:
        """Compare what was foreseen (batch,) with references (batch, target): mean distance of the logarithms.

        It is least at the median of the lengths that such documents have.
        """
        return (foreseen - _count(target).log()).abs().mean()

    def vary(self, target: Tensor) -> Tensor:
        """Give about the lengths of references (batch, target), to be told in training: (batch,)."""
        lengths = _count(target)
        return lengths * (_INEXACT * torch.randn_like(lengths)).exp()

    def left(self, planned: Tensor, places: Tensor, dtype: torch.dtype) -> Tensor:
        """Encode how many of the planned tokens (batch,) are left at places (batch, target): (batch, target, dim)."""
        left = (planned[:, None] - places).round().clamp_min(0)
        told: Tensor = self.tell(sinusoid(left, self.tell.in_features).to(dtype))
        return told


def _count(target: Tensor) -> Tensor:
    """Count the tokens of references (batch, target), at least 1 each: (batch,)."""
    return (target != PAD).sum(1).clamp_min(1).float()
