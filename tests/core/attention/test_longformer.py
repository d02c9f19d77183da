import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from sumpool.core.attention.longformer import LongformerAttention, LongformerAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttention, SlidingWindowAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.tokens import Tokens


def build(window: int, global_tokens: int, separate: bool = False) -> LongformerAttention:
    config = LongformerAttentionConfig(window=window, global_tokens=global_tokens, separate=separate)
    return config.build(16, 4).double()


def split(projected: Tensor, parts: int = 1) -> Tensor:
    """Split (length, features) into (parts, heads, length, head_dim)."""
    return projected.view(len(projected), parts, 4, 4).permute(1, 2, 0, 3)


def naive(attention: LongformerAttention, states: Tensor, starts: tuple[int, ...] = ()) -> tuple[Tensor, Tensor]:
    """Output and explicit weights (heads, length, length) of one document (length, dim)."""
    indices = torch.arange(len(states))
    first = (indices < attention.first_tokens) | torch.isin(indices, torch.tensor(starts, dtype=torch.long))
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
    return attention.out(mixed.transpose(0, 1).flatten(1)), weights


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("global_tokens", [0, 1, 7, 300])
@pytest.mark.parametrize("window", [2, 16, 64])
def test_equals_explicit_weights(
    window: int, global_tokens: int, separate: bool, make_tokens: Callable[..., Tokens]
) -> None:
    attention = build(window, global_tokens, separate)
    tokens = make_tokens(100, 61, 5, 1, 0, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    received = [
        attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for include_self in (True, False)
    ]
    for number, real in enumerate((100, 61, 5, 1)):
        expected, weights = naive(attention, tokens.states[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
        others = weights - weights.diagonal(0, 1, 2).diag_embed()
        for part, counted in zip(received, (weights, others), strict=True):
            torch.testing.assert_close(part[number, :real], counted.mean(0).sum(0), atol=1e-10, rtol=0)
            assert (part[number, real:] == 0).all()
    assert mixed.isfinite().all()


def test_one_global_token_is_a_sliding_window_with_a_global_first_token(make_tokens: Callable[..., Tokens]) -> None:
    attention = build(8, 1, separate=True)
    window: SlidingWindowAttention = SlidingWindowAttentionConfig(window=8, global_first=True).build(16, 4).double()
    names = {"first.query": "global_query", "first.key_value": "global_key_value"}
    state = attention.state_dict()
    window.load_state_dict(
        {
            name: state[f"{names.get(name.rpartition('.')[0], name.rpartition('.')[0])}.{name.rpartition('.')[2]}"]
            for name in window.state_dict()
        }
    )
    tokens = make_tokens(60, 21, 2)
    expected = window(tokens.states, tokens.mask, tokens.positions)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    torch.testing.assert_close(mixed[tokens.mask], expected[tokens.mask], atol=1e-10, rtol=0)


def test_global_tokens_only_are_full_attention(make_tokens: Callable[..., Tokens]) -> None:
    full, attention, tokens = VanillaAttention(16, 4).double(), build(2, 50), make_tokens(50, 21)
    attention.load_state_dict(full.state_dict())
    mixed, expected = (part(tokens.states, tokens.mask, tokens.positions)[tokens.mask] for part in (attention, full))
    torch.testing.assert_close(mixed, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("separate", [False, True])
def test_gradient_is_exact(separate: bool, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, 2, separate), make_tokens(9, 3, 1)

    def mix(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)
        return mixed[tokens.mask]

    assert torch.autograd.gradcheck(mix, tokens.states.requires_grad_())


@pytest.mark.parametrize("separate", [False, True])
def test_a_document_without_tokens_has_a_finite_gradient(separate: bool, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(2, 2, separate), make_tokens(9, 0)
    states = tokens.states.requires_grad_()
    attention(states, tokens.mask, tokens.positions).square().sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()


def test_window_must_be_even() -> None:
    with pytest.raises(ValidationError, match=r"window\s+Value error, must be even, got 7; half of it lies"):
        LongformerAttentionConfig(window=7)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("global_tokens", [0, 3])
def test_first_tokens_of_sentences_are_global(
    global_tokens: int, separate: bool, make_tokens: Callable[..., Tokens]
) -> None:
    config = LongformerAttentionConfig(window=4, global_tokens=global_tokens, global_sentences=True, separate=separate)
    attention, tokens = config.build(16, 4).double(), make_tokens(60, 23, 5, 1, 0, pad=1e3)
    ends = torch.tensor([0, 1, 7, 20, 21, 45])  # the first sentence has one token
    tokens = replace(tokens, sentences=torch.bucketize(torch.arange(60), ends).expand(5, -1))
    mixed = attention.mix(tokens)
    received = [attention.received(tokens, include_self) for include_self in (True, False)]
    for number, real in enumerate((60, 23, 5, 1)):
        expected, weights = naive(attention, tokens.states[number, :real], (0, 1, 2, 8, 21, 22, 46))
        torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
        others = weights - weights.diagonal(0, 1, 2).diag_embed()
        for part, counted in zip(received, (weights, others), strict=True):
            torch.testing.assert_close(part[number, :real], counted.mean(0).sum(0), atol=1e-10, rtol=0)
    assert mixed.isfinite().all()
