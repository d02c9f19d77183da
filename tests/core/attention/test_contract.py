"""What every attention keeps, tested on every variant found in the folder."""

from collections.abc import Callable

import pytest
import torch

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import config_class, kinds

KINDS = kinds("sumpool.core.attention")


def build(kind: str, dtype: torch.dtype = torch.float64) -> Attention:
    config = config_class("sumpool.core.attention", kind)()
    assert isinstance(config, AttentionConfig)
    return config.build(16, 4).to(dtype)


def test_the_family_is_found() -> None:
    assert {"vanilla", "blockwise"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 37, 64, 1000])
def test_shape(kind: str, length: int, make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(length, max(1, length // 3))
    assert build(kind)(tokens.states, tokens.mask, tokens.positions).shape == tokens.states.shape


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(1, 37), (64, 64, 3), (700, 1000, 20)])
def test_padding_and_batch_mates_change_nothing(
    kind: str, lengths: tuple[int, ...], make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    attention = build(kind)
    together = make_tokens(*lengths)
    garbage = make_tokens(*lengths, length=max(lengths) + 50, pad=1e3)
    for number, length in enumerate(lengths):
        single = alone(together, number)
        expected = attention(single.states, single.mask, single.positions)[0]
        for tokens in (together, garbage):
            mixed = attention(tokens.states, tokens.mask, tokens.positions)[number, :length]
            torch.testing.assert_close(mixed, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_finite_gradient(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    attention = build(kind)
    tokens = make_tokens(700, 40)
    attention(tokens.states, tokens.mask, tokens.positions)[tokens.mask].square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if "bias" not in name or name == "out.bias":
            assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_float32_agrees_with_float64(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    attention = build(kind)
    tokens = make_tokens(600, 100)
    expected = attention(tokens.states, tokens.mask, tokens.positions)
    mixed = attention.float()(tokens.states.float(), tokens.mask, tokens.positions)
    torch.testing.assert_close(mixed[tokens.mask].double(), expected[tokens.mask], atol=1e-5, rtol=0)
