from collections.abc import Callable

import pytest
import torch

from sumpool.core.attention._base import Attention
from sumpool.core.attention.performer import PerformerAttentionConfig, orthogonal_directions
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.tokens import Tokens


def test_equals_explicit_weights(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = PerformerAttentionConfig(features=10).build(16, 4).double(), make_tokens(30, 11, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for number, real in enumerate((30, 11)):
        projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
        query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
        query, key = (
            (part / 4**0.25 @ attention.directions.T - (part / 4**0.25).square().sum(2, keepdim=True) / 2).exp()
            for part in (query, key)
        )
        expected = (query @ key.mT / (query @ key.mT).sum(2, keepdim=True)) @ value
        torch.testing.assert_close(mixed[number, :real], attention.out(expected.transpose(0, 1).flatten(1)))


def test_more_features_approximate_full_attention(make_tokens: Callable[..., Tokens]) -> None:
    tokens, full = make_tokens(50), VanillaAttention(16, 2).double()
    expected = full(tokens.states, tokens.mask, tokens.positions)

    def error(features: int) -> float:
        errors = []
        for seed in range(5):
            attention = PerformerAttentionConfig(features=features, seed=seed).build(16, 2).double()
            attention.load_state_dict(full.state_dict())
            errors.append((attention(tokens.states, tokens.mask, tokens.positions) - expected).square().mean())
        return float(torch.stack(errors).mean().sqrt().detach())

    errors = [error(features) for features in (64, 1024, 16384)]
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < errors[0] / 4


def test_directions_are_orthogonal_in_blocks() -> None:
    directions = orthogonal_directions(20, 8, torch.Generator().manual_seed(1)).double()
    for block in (directions[:8], directions[8:16], directions[16:]):
        products = block @ block.T
        torch.testing.assert_close(products, products.diag().diag(), atol=1e-5, rtol=0)
    lengths = orthogonal_directions(8192, 8, torch.Generator().manual_seed(1)).square().sum(1)
    assert lengths.mean().item() == pytest.approx(8, rel=0.05)
    assert lengths.std().item() == pytest.approx(4, rel=0.1)


def test_directions_are_drawn_again_in_training_only(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = PerformerAttentionConfig(redraw=True).build(16, 4).double(), make_tokens(20)

    def mix(attention: Attention) -> torch.Tensor:
        mixed: torch.Tensor = attention(tokens.states, tokens.mask, tokens.positions)
        return mixed

    assert not torch.equal(mix(attention), mix(attention))
    torch.manual_seed(3)
    first = mix(attention)
    torch.manual_seed(3)
    assert torch.equal(mix(attention), first)
    assert torch.equal(mix(attention.eval()), mix(attention.eval()))
