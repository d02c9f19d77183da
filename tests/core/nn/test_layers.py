"""Feed-forward layers and residual connections."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.layers import Activation, FeedForward, Residual


@pytest.mark.parametrize(("activation", "function"), [("relu", torch.relu), ("gelu", F.gelu), ("silu", F.silu)])
def test_the_activation_stands_between_two_maps(activation: Activation, function: Callable[[Tensor], Tensor]) -> None:
    layer, states = FeedForward(8, 12, activation), torch.randn(2, 3, 8)
    expected = layer.narrow(function(layer.widen(states)))
    torch.testing.assert_close(layer(states), expected)
    with torch.inference_mode():
        torch.testing.assert_close(layer(states), expected)


def test_pre_norm_normalises_the_input_and_keeps_the_sum() -> None:
    states = torch.randn(2, 3, 8)
    residual = Residual(8, "pre", dropout=0.0)
    expected = states + 2 * torch.nn.functional.layer_norm(states, (8,))
    torch.testing.assert_close(residual(states, lambda prepared: 2 * prepared), expected)


def test_post_norm_normalises_the_sum() -> None:
    states = torch.randn(2, 3, 8)
    residual = Residual(8, "post", dropout=0.0)
    expected = torch.nn.functional.layer_norm(3 * states, (8,))
    torch.testing.assert_close(residual(states, lambda prepared: 2 * prepared), expected)


def test_dropout_spares_the_residual() -> None:
    states = torch.ones(1, 1, 1000)
    added = Residual(1000, "pre", dropout=0.5).add(states, torch.ones_like(states))
    assert set(added.unique().tolist()) == {1.0, 3.0}
