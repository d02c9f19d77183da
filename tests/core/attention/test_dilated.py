import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.dilated import DilatedAttention, DilatedAttentionConfig
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_exact_gradient


def naive(attention: DilatedAttention, states: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Output and explicit weights (heads, length, length) of one document (length, dim)."""
    query, key, value = (
        part[0] for part in attention._project(Tokens.of_states(states[None], positions=positions[None]))
    )
    bias = attention.positions.bias(positions[None])
    scores = query @ key.mT / 2 + (0.0 if bias is None else bias[0])
    distance = (torch.arange(len(states))[:, None] - torch.arange(len(states))).abs()
    visible = (distance <= attention.reach * attention.dilation) & (distance % attention.dilation == 0)
    weights = scores.masked_fill(~visible, -math.inf).softmax(-1)
    return attention.out((weights @ value).transpose(0, 1).flatten(1)), weights


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
@pytest.mark.parametrize(("window", "dilation"), [(2, 1), (2, 3), (16, 2), (16, 50)])
def test_sees_every_few_tokens(
    window: int, dilation: int, positions: PositionsKind, make_tokens: Callable[..., Tokens]
) -> None:
    attention = DilatedAttentionConfig(window=window, dilation=dilation, positions=positions).build(16, 4).double()
    for parameter in attention.positions.parameters():
        torch.nn.init.normal_(parameter)
    tokens = make_tokens(100, 37, 1, 0, pad=7.0)
    mixed = attention(tokens)
    received = [attention.attention_received(tokens, own) for own in (True, False)]
    for number, real in enumerate((100, 37, 1)):
        expected, weights = naive(attention, tokens.states[number, :real], tokens.positions[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
        for part, explicit in zip(received, (weights, weights - weights.diagonal(0, 1, 2).diag_embed()), strict=True):
            torch.testing.assert_close(part[number, :real], explicit.mean(0).sum(0), atol=1e-10, rtol=0)
    assert mixed.isfinite().all()


def test_gradients(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = DilatedAttentionConfig(window=2).build(16, 4).double(), make_tokens(6, 1)
    assert_exact_gradient(attention, tokens)
