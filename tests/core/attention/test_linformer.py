from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.attention.linformer import LinformerAttention, LinformerAttentionConfig, LinformerSharing
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.tokens import Tokens


def build(sharing: LinformerSharing, unreduced: bool) -> LinformerAttention:
    return LinformerAttentionConfig(rank=7, length=40, sharing=sharing, unreduced=unreduced).build(16, 4).double()


def explicit_weights(attention: LinformerAttention, states: Tensor) -> tuple[Tensor, Tensor]:
    """Implied weights (heads, length, length) and values (heads, length, head_dim) of one document."""
    projected = attention.project(states).chunk(3, dim=-1)
    query, key, value = (part.view(len(states), 4, 4).transpose(0, 1) for part in projected)
    keys, values = (part.expand(4, -1, -1) for part in attention._projections(len(states)))
    if attention.unreduced:
        return (query @ key.mT / 2).softmax(2) @ keys.mT @ keys, value
    return (query @ (keys @ key).mT / 2).softmax(2) @ values, value


@pytest.mark.parametrize(("sharing", "unreduced"), [*product(("none", "heads", "keys_values"), (False, True))])
def test_equals_explicit_weights(
    sharing: LinformerSharing, unreduced: bool, make_tokens: Callable[..., Tokens]
) -> None:
    attention, tokens = build(sharing, unreduced), make_tokens(30, 11, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for include_self in (True, False):
        received = attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for number, real in enumerate((30, 11, 1)):
            weights, value = explicit_weights(attention, tokens.states[number, :real])
            expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
            torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
            if not include_self:
                weights = weights - weights.diagonal(dim1=1, dim2=2).diag_embed()
            torch.testing.assert_close(received[number, :real], weights.sum(1).mean(0), atol=1e-10, rtol=0)


@pytest.mark.parametrize(
    ("sharing", "unreduced", "projections"),
    [("none", False, 8), ("heads", False, 2), ("keys_values", False, 1), ("none", True, 4), ("heads", True, 1)],
)
def test_shared_projections(sharing: LinformerSharing, unreduced: bool, projections: int) -> None:
    attention = build(sharing, unreduced)
    sizes = sum(parameter.numel() for name, parameter in attention.named_parameters() if name.startswith("project_"))
    assert sizes == projections * 7 * 40


def test_identity_as_projection_is_full_attention(make_tokens: Callable[..., Tokens]) -> None:
    tokens, full = make_tokens(30), VanillaAttention(16, 4).double()
    attention = LinformerAttentionConfig(rank=30, length=40, sharing="keys_values").build(16, 4).double()
    attention.load_state_dict(full.state_dict(), strict=False)
    nn.init.eye_(attention.project_keys.data[0])
    mixed, expected = (part(tokens.states, tokens.mask, tokens.positions) for part in (attention, full))
    torch.testing.assert_close(mixed, expected, atol=1e-12, rtol=0)


def test_a_higher_rank_approximates_full_attention_if_unreduced(make_tokens: Callable[..., Tokens]) -> None:
    tokens, full = make_tokens(50), VanillaAttention(16, 2).double()
    expected = full(tokens.states, tokens.mask, tokens.positions)

    def error(rank: int) -> float:
        attention = LinformerAttentionConfig(rank=rank, length=50, unreduced=True).build(16, 2).double()
        attention.load_state_dict(full.state_dict(), strict=False)
        difference = attention(tokens.states, tokens.mask, tokens.positions) - expected
        return float(difference.square().mean().sqrt().detach())

    errors = [error(rank) for rank in (64, 1024, 16384)]
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2


@pytest.mark.parametrize("unreduced", [False, True])
def test_gradients(unreduced: bool, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build("none", unreduced), make_tokens(6, 3)

    def forward(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)[tokens.mask]
        return mixed

    assert torch.autograd.gradcheck(forward, tokens.states.requires_grad_())
