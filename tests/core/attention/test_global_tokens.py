import math
from functools import partial

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.global_tokens import GlobalTokensAttention, GlobalTokensAttentionConfig
from tests.core.attention.checks import assert_equals_naive, mix
from tests.core.batches import make_tokens

LENGTHS = (100, 61, 5, 1)


def build(window: int, count: int) -> GlobalTokensAttention:
    return GlobalTokensAttentionConfig(window=window, tokens=count).build(16, 4).double()


def naive(attention: GlobalTokensAttention, states: Tensor) -> Tensor:
    """Output of one document (length, dim)."""
    indices, count = torch.arange(len(states)), attention.first_tokens
    query, key, value = attention.project(states).view(-1, 3, 4, 4).permute(1, 2, 0, 3)
    reading = (attention.memory @ key.mT / 2).softmax(-1)
    hidden = (indices[:, None] - indices).abs() > attention.reach
    local = (query @ key.mT / 2).masked_fill(hidden, -math.inf)
    weights = torch.cat([query @ (reading @ key).mT / 2, local], dim=2).softmax(-1)
    weights = weights[..., count:] + weights[..., :count] @ reading
    return mix(attention, weights, value)


@pytest.mark.parametrize(("window", "count"), [(2, 7), (16, 1), (64, 200), (300, 7)])
def test_equals_explicit_weights(window: int, count: int) -> None:
    attention, tokens = build(window, count), make_tokens(*LENGTHS, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))
