import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.neighborhood import NeighborhoodAttention, NeighborhoodAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttention, SlidingWindowAttentionConfig
from sumpool.core.tokens import Tokens


def build(radius: int, edges: str) -> NeighborhoodAttention:
    config = NeighborhoodAttentionConfig.model_validate({"radius": radius, "edges": edges})
    return config.build(16, 4).double()


def naive(attention: NeighborhoodAttention, states: Tensor) -> tuple[Tensor, Tensor]:
    """Output and explicit weights (heads, length, length) of one document (length, dim)."""
    indices, radius = torch.arange(len(states)), attention.reach
    centre = (
        indices.clamp(min(radius, len(states) - 1), max(len(states) - 1 - radius, 0)) if attention.shifted else indices
    )
    visible = (centre[:, None] - indices).abs() <= radius
    query, key, value = attention.project(states).view(-1, 3, 4, 4).permute(1, 2, 0, 3)
    weights = (query @ key.mT / 2).masked_fill(~visible, -math.inf).softmax(-1)
    return attention.out((weights @ value).transpose(0, 1).flatten(1)), weights


@pytest.mark.parametrize("edges", ["cut", "shift"])
@pytest.mark.parametrize("radius", [1, 5, 20, 60, 300])
def test_equals_explicit_weights(radius: int, edges: str, make_tokens: Callable[..., Tokens]) -> None:
    attention = build(radius, edges)
    lengths = (100, 61, 41, 40, 25, 11, 3, 1)
    tokens = make_tokens(*lengths, 0, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    received = [
        attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for include_self in (True, False)
    ]
    for number, real in enumerate(lengths):
        expected, weights = naive(attention, tokens.states[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
        others = weights - weights.diagonal(0, 1, 2).diag_embed()
        for part, counted in zip(received, (weights, others), strict=True):
            torch.testing.assert_close(part[number, :real], counted.mean(0).sum(0), atol=1e-10, rtol=0)
            assert (part[number, real:] == 0).all()
    assert mixed.isfinite().all()


def test_every_shifted_token_has_all_neighbours(make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(50)
    _, weights = naive(build(5, "shift"), tokens.states[0])
    assert ((weights > 0).sum(2) == 11).all()
    _, weights = naive(build(5, "cut"), tokens.states[0])
    assert (weights[0, 0] > 0).sum() == 6


def test_cut_neighbourhoods_are_a_sliding_window(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(4, "cut"), make_tokens(60, 21, 2)
    window: SlidingWindowAttention = SlidingWindowAttentionConfig(window=8).build(16, 4).double()
    window.load_state_dict(attention.state_dict())
    expected = window(tokens.states, tokens.mask, tokens.positions)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    assert torch.equal(mixed[tokens.mask], expected[tokens.mask])


@pytest.mark.parametrize("edges", ["cut", "shift"])
def test_gradient_is_exact(edges: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, edges), make_tokens(9, 4, 3, 1)

    def mix(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)
        return mixed[tokens.mask]

    assert torch.autograd.gradcheck(mix, tokens.states.requires_grad_())


def test_a_document_without_tokens_has_a_finite_gradient(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, "shift"), make_tokens(9, 0)
    states = tokens.states.requires_grad_()
    attention(states, tokens.mask, tokens.positions).square().sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()


@pytest.mark.parametrize("edges", ["cut", "shift"])
def test_batch_mates_and_padding_change_nothing(
    edges: str, make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    attention, tokens = build(6, edges), make_tokens(40, 13, 7, length=50, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for number, real in enumerate((40, 13, 7)):
        single = alone(tokens, number)
        expected = attention(single.states, None, single.positions)[0]
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
