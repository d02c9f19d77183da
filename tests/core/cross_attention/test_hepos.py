import math

import pytest
import torch
from torch import Tensor

from sumpool.core.cross_attention import HeposCrossAttention, HeposCrossAttentionConfig
from tests.core.batches import make_tokens


def build(stride: int, heads: int = 4) -> HeposCrossAttention:
    return HeposCrossAttentionConfig(stride=stride).build(16, heads).double()


def naive(attention: HeposCrossAttention, queries: Tensor, states: Tensor) -> Tensor:
    """Attention of (target, dim) to (length, dim) of one document, head by head."""
    heads, stride = attention.heads, attention.stride
    query = attention.query(queries).view(len(queries), heads, 16 // heads)
    key, value = (part.view(len(states), heads, 16 // heads) for part in attention.key_value(states).chunk(2, dim=-1))
    mixed = torch.zeros_like(query)
    for head in range(heads):
        visible = [index for index in range(len(states)) if index % stride == head % stride]
        if visible:
            scores = query[:, head] @ key[visible, head].T / math.sqrt(query.size(2))
            mixed[:, head] = scores.softmax(-1) @ value[visible, head]
    out: Tensor = attention.out(mixed.flatten(1))
    return out


@pytest.mark.parametrize(("stride", "heads"), [(1, 4), (2, 4), (3, 2), (4, 8), (7, 4)])
def test_equals_loops_over_heads(stride: int, heads: int) -> None:
    attention = build(stride, heads)
    lengths = (84, 37, 2, 1, 0)  # a multiple of every stride, and too few for some heads
    tokens = make_tokens(*lengths, pad=torch.nan)
    queries = torch.randn(len(lengths), 6, 16, dtype=torch.float64)
    precomputed = attention.precompute(tokens, {})
    actual = attention(queries, precomputed).states
    for document, real in enumerate(lengths):
        expected = naive(attention, queries[document], tokens.states[document, :real])
        torch.testing.assert_close(actual[document], expected)
    for position in range(6):
        stepped = attention.step(queries[:, position : position + 1], precomputed)
        torch.testing.assert_close(stepped, actual[:, position : position + 1])


@pytest.mark.parametrize(("length", "positions"), [(8, 2), (9, 3), (11, 3), (1, 1)])
def test_keys_and_values_cover_a_stride_of_the_memory(length: int, positions: int) -> None:
    precomputed = build(4, heads=8).precompute(make_tokens(length, 1), {})
    shapes = {name: tuple(tensor.shape) for name, tensor in precomputed.items()}
    assert shapes == {"key": (2, 8, positions, 2), "value": (2, 8, positions, 2), "bias": (2, 8, 1, positions)}
