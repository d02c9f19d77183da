from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.attention import kernelized
from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from sumpool.core.tokens import Tokens


@pytest.mark.parametrize("max_weights", [2**24, 200])
@pytest.mark.parametrize("normalize", [False, True])
def test_equals_explicit_weights(
    normalize: bool, max_weights: int, make_tokens: Callable[..., Tokens], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernelized, "MAX_WEIGHTS", max_weights)
    attention = KernelizedAttentionConfig(normalize=normalize).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for include_self in (True, False):
        received = attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for number, real in enumerate((30, 11, 1)):
            projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
            query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
            weights = (-torch.cdist(query, key).square() / (2 * 4**0.5)).exp()
            if normalize:
                weights = weights / weights.sum(2, keepdim=True)
            expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
            torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
            if not include_self:
                weights = weights - weights.diagonal(dim1=1, dim2=2).diag_embed()
            torch.testing.assert_close(received[number, :real], weights.sum(1).mean(0), atol=1e-10, rtol=0)


def test_normalised_weights_of_far_keys_do_not_vanish(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = KernelizedAttentionConfig(normalize=True).build(16, 4), make_tokens(9, dtype=torch.float32)
    received = attention.attention_received(tokens.states * 1e4, tokens.mask, tokens.positions, include_self=True)
    torch.testing.assert_close(received.sum(), torch.tensor(9.0))


@pytest.mark.parametrize("normalize", [False, True])
def test_gradients(normalize: bool, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = KernelizedAttentionConfig(normalize=normalize).build(16, 4).double(), make_tokens(6, 3)

    def forward(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)[tokens.mask]
        return mixed

    assert torch.autograd.gradcheck(forward, tokens.states.requires_grad_())
