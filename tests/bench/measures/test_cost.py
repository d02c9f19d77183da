from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.bench.measures.cost import count

BATCH, HEADS, LENGTH, HEAD_DIM = 2, 3, 16, 8
PRODUCT = 2 * BATCH * HEADS * LENGTH * LENGTH * HEAD_DIM
"""One matrix product of attention: scores, or the mixing of values."""


def attention_input(requires_grad: bool = False) -> Tensor:
    return torch.randn(BATCH, HEADS, LENGTH, HEAD_DIM, requires_grad=requires_grad)


@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_linear_layer(context: Callable[[], AbstractContextManager[None]]) -> None:
    layer = nn.Linear(8, 5)
    states = torch.randn(3, 7, 8)
    with context():
        assert count(lambda: layer(states)) == 2 * 3 * 7 * 8 * 5


def test_linear_layer_under_autocast() -> None:
    layer = nn.Linear(8, 5)
    states = torch.randn(3, 7, 8)
    with torch.autocast("cpu", torch.bfloat16):
        assert count(lambda: layer(states)) == 2 * 3 * 7 * 8 * 5


def test_backward_of_a_linear_layer_counts_both_gradients() -> None:
    layer = nn.Linear(8, 5)
    states = torch.randn(21, 8, requires_grad=True)
    assert count(lambda: torch.autograd.backward(layer(states).sum())) == 3 * 2 * 21 * 8 * 5


@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(context: Callable[[], AbstractContextManager[None]], masked: bool) -> None:
    states = attention_input()
    mask = torch.ones(BATCH, 1, 1, LENGTH, dtype=torch.bool) if masked else None
    with context():
        assert count(lambda: F.scaled_dot_product_attention(states, states, states, mask)) == 2 * PRODUCT


def test_backward_of_attention_counts_the_scores_again() -> None:
    states = attention_input(requires_grad=True)

    def work() -> None:
        torch.autograd.backward(F.scaled_dot_product_attention(states, states, states).sum())

    assert count(work) == 7 * PRODUCT
