import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from sumpool.core.attention.global_tokens import GlobalTokensAttention, GlobalTokensAttentionConfig
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_equals_naive, assert_exact_gradient

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


@pytest.mark.parametrize(("window", "count"), [(2, 7), (16, 1), (64, 200), (300, 7)])
def test_equals_explicit_weights(window: int, count: int, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(window, count), make_tokens(*LENGTHS, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))


def test_gradient_is_exact(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, 3), make_tokens(6, 1)
    assert_exact_gradient(attention, tokens)


def test_window_must_be_even() -> None:
    with pytest.raises(ValidationError, match=r"window\s+Value error, must be even, got 7; half of it lies"):
        GlobalTokensAttentionConfig(window=7)
