import math
from collections.abc import Callable

import pytest
import torch
from scipy.stats import binom
from torch import nn

from sumpool.core.boundaries.gumbel import GumbelBoundaries, GumbelBoundariesConfig, likeliest, surprise_of_count
from sumpool.core.tokens import Tokens


def build(**settings: object) -> GumbelBoundaries:
    return GumbelBoundariesConfig.model_validate(settings).build(nn.Embedding(50, 16)).double()


def load(boundaries: GumbelBoundaries, logit: float) -> None:
    """Give every token the same logit."""
    with torch.no_grad():
        boundaries.predictor.decide.weight.zero_()
        boundaries.predictor.decide.bias.fill_(logit)


def test_the_prior_is_binomial() -> None:
    lengths, counts = [10, 37, 1, 5], [3, 37, 0, 2]
    mask = torch.arange(37)[None] < torch.tensor(lengths)[:, None]
    ends = torch.full((4, 37), 9.0, dtype=torch.float64)  # whatever stands in the padding
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        ends[row, :length] = (torch.randperm(length) < count).double()
    expected = -sum(
        binom.logpmf(count, length, 0.2) / length for length, count in zip(lengths, counts, strict=True)
    ) / len(lengths)
    assert surprise_of_count(ends, mask, 0.2).item() == pytest.approx(expected)


@pytest.mark.parametrize(("logit", "sign"), [(1.0, 1), (-3.0, -1)])
def test_the_prior_moves_the_number_of_ends_towards_its_rate(
    logit: float, sign: int, make_tokens: Callable[..., Tokens]
) -> None:
    boundaries = build(rate=0.3).train()
    load(boundaries, logit)
    boundaries(make_tokens(500)).losses["boundaries"].backward()
    assert boundaries.predictor.decide.bias.grad is not None
    assert boundaries.predictor.decide.bias.grad.sign().item() == sign


@pytest.mark.parametrize("logit", [0.0, 1.5, -2.0])
def test_training_tosses_the_coin_that_the_network_has_loaded(logit: float, make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(20000)
    likely = torch.tensor(logit).sigmoid().item()
    for boundaries in (build().train(), build(inference="sample").eval()):
        load(boundaries, logit)
        ends = boundaries(tokens).ends
        assert set(ends.round(decimals=9).unique().tolist()) == {0.0, 1.0}
        assert ends.mean().item() == pytest.approx(likely, abs=0.015)
        assert not torch.equal(ends > 0.5, boundaries(tokens).ends > 0.5)


def test_a_trained_model_takes_the_likelier_decision(make_tokens: Callable[..., Tokens]) -> None:
    boundaries = build().eval()
    tokens = make_tokens(300)
    ends = boundaries(tokens).ends
    torch.testing.assert_close(ends, (boundaries.predictor(tokens).sigmoid() > 0.5).double())
    assert 0 < ends.mean() < 1


def test_the_likeliest_ends_are_as_many_as_expected() -> None:
    logits = torch.tensor([[0.3, 0.2, 0.45, 0.1, 0.4], [0.4, 0.4, 0.4, 0.9, 0.9], [0.9, 0.9, 0.9, 0.9, 0.9]]).logit()
    mask = torch.arange(5)[None] < torch.tensor([5, 3, 0])[:, None]
    assert likeliest(logits, mask).int().tolist() == [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert likeliest(logits + 1, mask).int().sum(1).tolist() == [3, 2, 0]


def test_an_unsure_model_still_ends_segments_where_it_expects_them(make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(400, 100, length=450, pad=torch.nan)
    unsure, sure = build(inference="expected").eval(), build().eval()
    for boundaries in (unsure, sure):
        load(boundaries, -1.0)
    assert not sure(tokens).ends.any()
    ends = unsure(tokens).ends.masked_fill(~tokens.mask, 0)
    assert ends.sum(1).tolist() == [round(400 / (1 + math.e)), round(100 / (1 + math.e))]


def test_the_gradient_is_that_of_the_soft_coin(make_tokens: Callable[..., Tokens]) -> None:
    boundaries = build(temperature=0.7).eval()
    tokens = make_tokens(9)
    weigh = torch.randn(1, 9, dtype=torch.float64)
    (boundaries(tokens).ends * weigh).sum().backward()
    found = boundaries.predictor.widen.weight.grad
    boundaries.zero_grad()
    ((boundaries.predictor(tokens) / 0.7).sigmoid() * weigh).sum().backward()
    torch.testing.assert_close(found, boundaries.predictor.widen.weight.grad)
