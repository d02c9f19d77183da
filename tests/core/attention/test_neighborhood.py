import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.neighborhood import NeighborhoodAttention, NeighborhoodAttentionConfig
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_equals_naive, assert_exact_gradient


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
    tokens = make_tokens(100, 61, 41, 40, 25, 11, 3, 1, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))


@pytest.mark.parametrize("edges", ["cut", "shift"])
def test_gradient_is_exact(edges: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, edges), make_tokens(6, 1)
    assert_exact_gradient(attention, tokens)
