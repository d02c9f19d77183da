"""Activation checkpointing, skipped initialisation and the number of threads."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.nn.execution import SkipInit, one_thread, run_layer


class CallCounter(nn.Module):
    """Counts its forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, states: Tensor, factor: float) -> Tensor:
        self.calls += 1
        return (states * factor).exp()


def test_checkpointed_layer_is_computed_again_for_the_backward_pass() -> None:
    layer = CallCounter()
    run_layer(layer, torch.ones(3, requires_grad=True), 2.0, checkpointed=False).sum().backward()
    assert layer.calls == 1
    states = torch.ones(3, requires_grad=True)
    run_layer(layer, states, 2.0, checkpointed=True).sum().backward()
    assert layer.calls == 3
    torch.testing.assert_close(states.grad, torch.full((3,), 2.0).exp() * 2)
    with torch.no_grad():
        run_layer(layer, torch.ones(3), 2.0, checkpointed=True)
    assert layer.calls == 4


def test_skipped_initialisation_draws_no_random_numbers() -> None:
    before = torch.random.get_rng_state()
    with SkipInit():
        linear, embedding = nn.Linear(3, 4), nn.Embedding(5, 4)
        nn.init.xavier_uniform_(linear.weight)
        nn.init.normal_(embedding.weight, std=2.0)
        nn.GRU(3, 4)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert [tuple(weights.shape) for weights in linear.parameters()] == [(4, 3), (4,)]
    assert all(weights.requires_grad for weights in linear.parameters())


def test_other_functions_run_while_initialisation_is_skipped() -> None:
    with SkipInit():
        assert torch.arange(3).tolist() == [0, 1, 2]
        assert torch.zeros(2).add_(1).tolist() == [1, 1]
    assert nn.Linear(3, 4).weight.abs().max() > 0


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_number_of_threads_is_restored() -> None:
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ValueError, match="stop"), one_thread():
        raise ValueError("stop")
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_number_of_threads_stays_where_not_enabled() -> None:
    with one_thread(enabled=False):
        assert torch.get_num_threads() == 2
