from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention import _kernel
from sumpool.core.attention.linear import LinearAttention
from sumpool.core.tokens import Tokens


@pytest.mark.parametrize("causal", [False, True])
def test_equals_explicit_weights(causal: bool, make_tokens: Callable[..., Tokens]) -> None:
    """Causal attention in several chunks, the last one filled up."""
    attention, tokens = LinearAttention(16, 4, causal=causal).double(), make_tokens(300, 128, 11, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    received = attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self=False)
    for number, real in enumerate((300, 128, 11, 1)):
        projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
        query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
        weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
        weights = weights.tril() if causal else weights
        weights = weights / weights.sum(2, keepdim=True)
        expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
        others = weights - weights.diagonal(0, 1, 2).diag_embed()
        torch.testing.assert_close(received[number, :real], others.mean(0).sum(0), atol=1e-10, rtol=0)


def test_the_gradient_of_causal_chunks_is_exact(
    monkeypatch: pytest.MonkeyPatch, make_tokens: Callable[..., Tokens]
) -> None:
    monkeypatch.setattr(_kernel, "CHUNK", 4)
    attention, tokens = LinearAttention(16, 4, causal=True).double(), make_tokens(9, 4, 1)

    def mix(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)
        return mixed[tokens.mask]

    assert torch.autograd.gradcheck(mix, tokens.states.requires_grad_())


def test_a_document_without_tokens_has_a_finite_gradient(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = LinearAttention(16, 4).double(), make_tokens(5, 0)
    states = tokens.states.requires_grad_()
    attention(states, tokens.mask, tokens.positions).square().sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
