"""Feed-forward layers and residual connections."""

import torch

from sumpool.core.nn.layers import Residual


def test_dropout_spares_the_residual() -> None:
    states = torch.ones(1, 1, 1000)
    added = Residual(1000, "pre", dropout=0.5).add(states, torch.ones_like(states))
    assert set(added.unique().tolist()) == {1.0, 3.0}
