"""Causal attention: tokens attend to earlier tokens only."""

from itertools import product
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.attention._base import SoftmaxAttention
from sumpool.core.attention.blockwise import BlockwiseAttention
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_exact_gradient
from tests.core.batches import make_tokens

CASES = [*product((4, None), get_args(PositionsKind))]
"""Tokens of a block, None for full attention; and positions."""


def build(block: int | None, positions: PositionsKind, causal: bool = True) -> SoftmaxAttention:
    """Build an attention with random position parameters."""
    attention: SoftmaxAttention = VanillaAttention(16, 4, positions, causal=causal)
    if block:
        attention = BlockwiseAttention(16, 4, block, positions, causal=causal)
    for parameter in attention.positions.parameters():
        nn.init.normal_(parameter)
    return attention.double()


def weights_of(attention: SoftmaxAttention, states: Tensor) -> Tensor:
    """Attention weights (heads, length, length) of 16 tokens (length, dim), by one-hot values for four at a time."""
    attention.out.weight.data.copy_(torch.eye(16))
    attention.out.bias.data.zero_()
    parts = []
    for group in torch.eye(16, dtype=torch.float64).split(4, dim=1):
        attention.project.weight.data[-16:] = torch.linalg.solve(states, group.repeat(1, 4)).T
        attention.project.bias.data[-16:] = 0
        mixed = attention(Tokens.of_states(states[None], positions=torch.arange(16)[None]))[0].detach()
        parts.append(mixed.view(16, 4, 4).transpose(0, 1))
    return torch.cat(parts, dim=2)


@pytest.mark.parametrize(("block", "positions"), CASES)
def test_causal_weights_are_those_of_earlier_tokens(block: int | None, positions: PositionsKind) -> None:
    causal, full = (build(block, positions, is_causal) for is_causal in (True, False))
    full.load_state_dict(causal.state_dict())
    states = make_tokens(16).states[0]
    expected = weights_of(full, states).tril()
    torch.testing.assert_close(weights_of(causal, states), expected / expected.sum(2, keepdim=True), atol=1e-8, rtol=0)


@pytest.mark.parametrize(("block", "positions"), CASES)
def test_later_tokens_change_no_causal_output(block: int | None, positions: PositionsKind) -> None:
    attention, tokens = build(block, positions), make_tokens(150, 21)
    states = tokens.states.clone().requires_grad_()
    mixed = attention(tokens.with_states(states))
    for last in (0, 13, 100):
        (gradient,) = torch.autograd.grad(mixed[0, : last + 1].square().sum(), states, retain_graph=True)
        assert (gradient[0, last + 1 :] == 0).all()
        assert (gradient[0, : last + 1] != 0).any()
        changed = states.detach().clone()
        changed[0, last + 1 :] = torch.randn(changed[0, last + 1 :].shape, dtype=torch.float64)
        other = attention(tokens.with_states(changed))
        torch.testing.assert_close(other[0, : last + 1], mixed[0, : last + 1], atol=1e-10, rtol=0)


@pytest.mark.parametrize(("block", "positions"), CASES)
def test_the_causal_gradient_is_exact(block: int | None, positions: PositionsKind) -> None:
    assert_exact_gradient(build(block, positions), make_tokens(6, 1))
