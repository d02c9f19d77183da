import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from sumpool.core.attention.sliding_window import SlidingWindowAttention, SlidingWindowAttentionConfig
from tests.core.batches import make_tokens


def build(window: int, **settings: Any) -> SlidingWindowAttention:  # noqa: ANN401 - settings of any type
    attention = SlidingWindowAttentionConfig(window=window, **settings).build(16, 4).double()
    for parameter in attention.positions.parameters():
        torch.nn.init.normal_(parameter)
    return attention


def naive(attention: SlidingWindowAttention, states: Tensor, source_positions: Tensor) -> Tensor:
    """Output of one document (length, dim)."""

    def heads(projected: Tensor) -> Tensor:
        return projected.view(len(states), -1, 4).transpose(0, 1)[None]  # (1, heads, length, head_dim)

    query, key, value = (heads(part) for part in attention.project(states).chunk(3, dim=-1))
    query, key = (attention.positions.rotate(part, source_positions[None]) for part in (query, key))
    scores = query @ key.transpose(2, 3) / 2
    bias = attention.positions.bias(source_positions[None])
    scores = scores if bias is None else scores + bias
    indices = torch.arange(len(states))
    distance = (indices[:, None] - indices).abs()
    visible = distance <= attention.reach
    if attention.first:
        visible[:, 0] = True
    weights = scores.masked_fill(~visible, -math.inf).softmax(-1)[0]
    mixed = torch.einsum("hqk,hkd->qhd", weights, value[0])
    if attention.first:
        query = heads(attention.first.query(states))
        key, value = (heads(part) for part in attention.first.key_value(states).chunk(2, dim=-1))
        first = (query[0, :, :1] @ key[0].transpose(1, 2) / 2).softmax(-1)  # (heads, 1, length)
        mixed = torch.cat([torch.einsum("hqk,hkd->qhd", first, value[0]), mixed[1:]])
    output: Tensor = attention.out(mixed.flatten(1))
    return output


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
@pytest.mark.parametrize("global_first", [False, True])
@pytest.mark.parametrize(("window", "length"), [(2, 37), (16, 64), (64, 1), (64, 200)])
def test_equals_full_attention_with_a_band(window: int, length: int, global_first: bool, positions: str) -> None:
    attention = build(window, global_first=global_first, positions=positions)
    lengths = (length, max(1, length // 3), 1)
    tokens = make_tokens(*lengths, length=length + 9, pad=7.0)
    source_positions = torch.randint(0, 5000, tokens.mask.shape).sort(1).values
    mixed = attention(replace(tokens, positions=source_positions))
    assert mixed.isfinite().all()
    for number, real in enumerate(lengths):
        expected = naive(attention, tokens.states[number, :real], source_positions[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected)


def test_window_must_be_even() -> None:
    with pytest.raises(ValidationError, match=r"window\s+Value error, must be even, got 7; half of it lies"):
        SlidingWindowAttentionConfig(window=7)
