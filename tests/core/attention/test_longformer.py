import math
from functools import partial

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.longformer import LongformerAttention, LongformerAttentionConfig
from tests.core.attention.checks import assert_equals_naive
from tests.core.batches import make_tokens


def build(window: int, global_tokens: int, separate: bool = False) -> LongformerAttention:
    config = LongformerAttentionConfig(window=window, global_tokens=global_tokens, separate=separate)
    return config.build(16, 4).double()


def split(projected: Tensor, parts: int = 1) -> Tensor:
    """Split (length, features) into (parts, heads, length, head_dim)."""
    return projected.view(len(projected), parts, 4, 4).permute(1, 2, 0, 3)


def naive(attention: LongformerAttention, states: Tensor) -> Tensor:
    """Output of one document (length, dim)."""
    indices = torch.arange(len(states))
    first = indices < attention.first_tokens
    visible = ((indices[:, None] - indices).abs() <= attention.reach) | first
    query, key, value = split(attention.project(states), 3)
    weights = (query @ key.mT / 2).masked_fill(~visible, -math.inf).softmax(-1)
    if attention.global_query is not None and attention.global_key_value is not None:
        query = split(attention.global_query(states))[0]
        key, other = split(attention.global_key_value(states), 2)
    else:
        other = value
    weights[:, first] = (query[:, first] @ key.mT / 2).softmax(-1)
    mixed = torch.where(first[:, None], weights @ other, weights @ value)
    output: Tensor = attention.out(mixed.transpose(0, 1).flatten(1))
    return output


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize(("window", "global_tokens"), [(2, 0), (2, 7), (16, 1), (16, 300), (64, 0), (64, 7)])
def test_equals_explicit_weights(window: int, global_tokens: int, separate: bool) -> None:
    attention = build(window, global_tokens, separate)
    tokens = make_tokens(100, 61, 5, 1, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))
