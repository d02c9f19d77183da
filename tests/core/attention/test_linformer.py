from functools import partial
from itertools import product
from typing import get_args

import pytest
from torch import Tensor

from sumpool.core.attention.linformer import LinformerAttention, LinformerAttentionConfig, LinformerSharing
from sumpool.core.attention.vanilla import VanillaAttention
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


def build(sharing: LinformerSharing, unreduced: bool) -> LinformerAttention:
    return LinformerAttentionConfig(rank=7, length=40, sharing=sharing, unreduced=unreduced).build(16, 4).double()


def naive(attention: LinformerAttention, states: Tensor) -> Tensor:
    """Output of one document."""
    query, key, value = project(attention, states)
    keys, values = (part.expand(4, -1, -1) for part in attention._projections(len(states)))
    if attention.unreduced:
        return mix(attention, (query @ key.mT / 2).softmax(2) @ keys.mT @ keys, value)
    return mix(attention, (query @ (keys @ key).mT / 2).softmax(2) @ values, value)


@pytest.mark.parametrize(("sharing", "unreduced"), [*product(get_args(LinformerSharing), (False, True))])
def test_equals_explicit_weights(sharing: LinformerSharing, unreduced: bool) -> None:
    attention, tokens = build(sharing, unreduced), make_tokens(30, 11, 1, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))


@pytest.mark.parametrize(
    ("sharing", "unreduced", "projections"),
    [
        ("none", False, 8),
        ("heads", False, 2),
        ("keys_values", False, 1),
        ("keys_values_per_head", False, 4),
        ("none", True, 4),
        ("heads", True, 1),
    ],
)
def test_shared_projections(sharing: LinformerSharing, unreduced: bool, projections: int) -> None:
    attention = build(sharing, unreduced)
    sizes = sum(parameter.numel() for name, parameter in attention.named_parameters() if name.startswith("project_"))
    assert sizes == projections * 7 * 40


def test_a_higher_rank_approximates_full_attention_if_unreduced() -> None:
    tokens, full = make_tokens(50), VanillaAttention(16, 2).double()
    expected = full(tokens)

    def error(rank: int) -> float:
        attention = LinformerAttentionConfig(rank=rank, length=50, unreduced=True).build(16, 2).double()
        attention.load_state_dict(full.state_dict(), strict=False)
        difference = attention(tokens) - expected
        return float(difference.square().mean().sqrt().detach())

    errors = [error(rank) for rank in (64, 1024, 16384)]
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
