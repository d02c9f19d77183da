import math
from collections.abc import Callable

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from sumpool.core.attention.global_tokens import GlobalTokensAttention, GlobalTokensAttentionConfig
from sumpool.core.tokens import Tokens

LENGTHS = (100, 61, 5, 1)


def build(window: int, count: int) -> GlobalTokensAttention:
    return GlobalTokensAttentionConfig(window=window, tokens=count).build(16, 4).double()


def naive(attention: GlobalTokensAttention, states: Tensor) -> tuple[Tensor, Tensor]:
    """Output and implied weights (heads, length, length) of one document (length, dim)."""
    indices, count = torch.arange(len(states)), attention.first_tokens
    query, key, value = attention.project(states).view(-1, 3, 4, 4).permute(1, 2, 0, 3)
    reading = (attention.memory @ key.mT / 2).softmax(-1)
    hidden = (indices[:, None] - indices).abs() > attention.reach
    local = (query @ key.mT / 2).masked_fill(hidden, -math.inf)
    weights = torch.cat([query @ (reading @ key).mT / 2, local], dim=2).softmax(-1)
    weights = weights[..., count:] + weights[..., :count] @ reading
    return attention.out((weights @ value).transpose(0, 1).flatten(1)), weights


@pytest.mark.parametrize("count", [1, 7, 200])
@pytest.mark.parametrize("window", [2, 16, 64, 300])
def test_equals_explicit_weights(window: int, count: int, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(window, count), make_tokens(*LENGTHS, 0, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    received = [
        attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for include_self in (True, False)
    ]
    for number, real in enumerate(LENGTHS):
        expected, weights = naive(attention, tokens.states[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
        others = weights - weights.diagonal(0, 1, 2).diag_embed()
        for part, counted in zip(received, (weights, others), strict=True):
            torch.testing.assert_close(part[number, :real], counted.mean(0).sum(0), atol=1e-10, rtol=0)
            assert (part[number, real:] == 0).all()
    assert mixed.isfinite().all()


def test_a_token_reaches_all_others_through_the_memory(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, 4), make_tokens(60)
    states = tokens.states.requires_grad_()
    attention(states, tokens.mask, tokens.positions)[0, 59].sum().backward()
    assert states.grad is not None
    assert (states.grad[0].abs().amax(1) > 0).all()


def test_gradient_is_exact(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, 3), make_tokens(9, 4, 1)

    def mix(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)
        return mixed[tokens.mask]

    assert torch.autograd.gradcheck(mix, tokens.states.requires_grad_())


def test_a_document_without_tokens_has_a_finite_gradient(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, 2), make_tokens(9, 0)
    states = tokens.states.requires_grad_()
    attention(states, tokens.mask, tokens.positions).square().sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()


def test_window_must_be_even() -> None:
    with pytest.raises(ValidationError, match=r"window\s+Value error, must be even, got 7; half of it lies"):
        GlobalTokensAttentionConfig(window=7)
