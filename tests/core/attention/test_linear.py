from collections.abc import Callable

import torch
from torch.nn import functional as F

from sumpool.core.attention.linear import LinearAttention
from sumpool.core.tokens import Tokens


def test_equals_explicit_weights(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = LinearAttention(16, 4).double(), make_tokens(30, 11, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for number, real in enumerate((30, 11)):
        projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
        query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
        weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
        expected = (weights / weights.sum(2, keepdim=True)) @ value
        torch.testing.assert_close(mixed[number, :real], attention.out(expected.transpose(0, 1).flatten(1)))


def test_a_document_without_tokens_has_a_finite_gradient(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = LinearAttention(16, 4).double(), make_tokens(5, 0)
    states = tokens.states.requires_grad_()
    attention(states, tokens.mask, tokens.positions).square().sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
