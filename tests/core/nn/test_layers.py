"""Residual connections."""

import torch

from sumpool.core.nn.layers import Residual


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
