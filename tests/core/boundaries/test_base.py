import pytest
import torch

from sumpool.core.boundaries import boundary_loss


def test_the_loss_is_least_at_the_posterior() -> None:
    """At a posterior of 0.6 the correct loss decides for an end, and that of the released code does not."""
    ends = torch.tensor([[1.0] * 6 + [0.0] * 4]).double()
    mask = torch.ones(1, 10, dtype=torch.bool)
    grid = torch.linspace(-4, 4, 801).double()
    losses = [boundary_loss(logit.expand(1, 10), ends, mask).item() for logit in grid]
    assert grid[torch.tensor(losses).argmin()].sigmoid().item() == pytest.approx(0.6, abs=0.01)
