import math

import pytest
import torch

from sumpool.core.boundaries._base import boundary_loss


def test_the_correct_loss_is_least_at_the_posterior_and_the_double_sigmoid_above_it() -> None:
    """At a posterior of 0.6 the correct loss decides for an end, and that of the released code does not."""
    ends = torch.tensor([[1.0] * 6 + [0.0] * 4]).double()
    mask = torch.ones(1, 10, dtype=torch.bool)
    grid = torch.linspace(-4, 4, 801).double()
    for double_sigmoid, probability in ((False, 0.6), (True, math.log(0.6 / 0.4))):
        losses = [boundary_loss(logit.expand(1, 10), ends, mask, double_sigmoid).item() for logit in grid]
        best = grid[torch.tensor(losses).argmin()].sigmoid().item()
        assert best == pytest.approx(probability, abs=0.01)
