"""What every attention keeps, tested on every variant found in the folder."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import config_class, kinds

KINDS = kinds("sumpool.core.attention")
ALIKE = ("vanilla", "blockwise", "sliding_window")
PLACED = [f"{kind} {positions}" for kind in ALIKE for positions in ("rotary", "relative")]
VARIANTS = KINDS + PLACED


def build(variant: str) -> Attention:
    """Build a kind, or a kind with its positions; what a layer learns about distances is not at its start of 0."""
    kind, *positions = variant.split()
    settings = {"positions": positions[0]} if positions else {}
    config = config_class("sumpool.core.attention", kind).model_validate(settings)
    assert isinstance(config, AttentionConfig)
    attention = config.build(16, 4).double()
    for name, parameter in attention.named_parameters():
        if name.startswith("positions."):
            nn.init.normal_(parameter)
    return attention


def test_the_family_is_found() -> None:
    assert {"vanilla", "blockwise"} <= set(KINDS)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", [1, 37, 64, 1000])
def test_shape(variant: str, length: int, make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(length, max(1, length // 3))
    assert build(variant)(tokens.states, tokens.mask, tokens.positions).shape == tokens.states.shape


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("lengths", [(1, 37), (64, 64, 3), (700, 1000, 20)])
def test_padding_and_batch_mates_change_nothing(
    variant: str, lengths: tuple[int, ...], make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    attention = build(variant)
    together = make_tokens(*lengths)
    garbage = make_tokens(*lengths, length=max(lengths) + 50, pad=1e3)
    for number, length in enumerate(lengths):
        single = alone(together, number)
        expected = attention(single.states, single.mask, single.positions)[0]
        for tokens in (together, garbage):
            mixed = attention(tokens.states, tokens.mask, tokens.positions)[number, :length]
            torch.testing.assert_close(mixed, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", [1, 37, 512, 1100])
def test_no_mask_is_one_that_is_true_everywhere(variant: str, length: int, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(variant), make_tokens(length, length)
    expected = attention(tokens.states, tokens.mask, tokens.positions)
    torch.testing.assert_close(attention(tokens.states, None, tokens.positions), expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nobody_sees_across_a_cut(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(variant), make_tokens(1100)
    if attention.block is None:
        pytest.skip("sees whole documents")
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    parts = zip(
        *(part.split(attention.block, 1) for part in (tokens.states, tokens.mask, tokens.positions)), strict=True
    )
    torch.testing.assert_close(torch.cat([attention(*part) for part in parts], dim=1), mixed, atol=1e-12, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_parameter_gets_a_finite_gradient(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention = build(variant)
    tokens = make_tokens(700, 40)
    attention(tokens.states, tokens.mask, tokens.positions)[tokens.mask].square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if ".bias" not in name or name == "out.bias":
            assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("variant", VARIANTS)
def test_float32_agrees_with_float64(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention = build(variant)
    tokens = make_tokens(600, 100)
    expected = attention(tokens.states, tokens.mask, tokens.positions)
    mixed = attention.float()(tokens.states.float(), tokens.mask, tokens.positions)
    torch.testing.assert_close(mixed[tokens.mask].double(), expected[tokens.mask], atol=1e-5, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_document_gives_away_as_much_attention_as_it_has_tokens(
    variant: str, make_tokens: Callable[..., Tokens]
) -> None:
    tokens = make_tokens(530, 64, 1, 0, length=540)
    attention_received = build(variant).attention_received(tokens.states, tokens.mask, tokens.positions, itself=True)
    torch.testing.assert_close(attention_received.sum(1), torch.tensor([530.0, 64.0, 1.0, 0.0], dtype=torch.float64))
    assert (attention_received >= 0).all()
    assert (attention_received[~tokens.mask] == 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("itself", [True, False])
def test_mass_is_of_the_weights_that_mix(variant: str, itself: bool, make_tokens: Callable[..., Tokens]) -> None:
    """Values that mark their token, the same in every head, come out as the weights: four tokens, four features."""
    attention, tokens = build(variant), make_tokens(4, length=6)
    project, out = attention.get_submodule("project"), attention.get_submodule("out")
    assert isinstance(project, nn.Linear)
    assert isinstance(out, nn.Linear)
    with torch.no_grad():
        marks = torch.eye(4, dtype=torch.float64).repeat(1, 4)  # (length, dim)
        project.weight[-16:] = torch.linalg.lstsq(tokens.states[0, :4], marks).solution.T
        project.bias[-16:] = 0
        out.weight.copy_(torch.eye(16))
        out.bias.zero_()
    weights = attention(tokens.states, tokens.mask, tokens.positions)[0, :4].view(4, 4, 4).mean(1)  # (queries, keys)
    if not itself:
        weights = weights - weights.diag().diag()
    attention_received = attention.attention_received(tokens.states, tokens.mask, tokens.positions, itself)
    torch.testing.assert_close(attention_received[0, :4], weights.sum(0))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("itself", [True, False])
def test_mass_depends_on_the_document_only(
    variant: str, itself: bool, make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    attention, lengths = build(variant), (530, 40, 3)
    batches = make_tokens(*lengths), make_tokens(*lengths, length=560, pad=1e3)
    together, hostile = (
        attention.attention_received(batch.states, batch.mask, batch.positions, itself) for batch in batches
    )
    for number, length in enumerate(lengths):
        single = alone(batches[0], number)
        expected = attention.attention_received(single.states, single.mask, single.positions, itself)[0]
        torch.testing.assert_close(together[number, :length], expected, atol=1e-10, rtol=0)
        torch.testing.assert_close(hostile[number, :length], expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_adding_to_all_positions_changes_nothing(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(variant), make_tokens(300, 20)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    moved = attention(tokens.states, tokens.mask, tokens.positions + 4321)
    torch.testing.assert_close(moved[tokens.mask], mixed[tokens.mask], atol=1e-10, rtol=0)


@pytest.mark.parametrize("variant", PLACED)
def test_gaps_between_positions_count(variant: str, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = build(variant), make_tokens(30)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    pooled = attention(tokens.states, tokens.mask, tokens.positions * 4)
    assert (pooled - mixed).abs().amax(-1).min() > 1e-6
