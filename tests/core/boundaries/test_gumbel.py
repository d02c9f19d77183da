import math

import pytest
import torch
from scipy.stats import binom
from torch import nn

from sumpool.core.boundaries import GumbelBoundaries, GumbelBoundariesConfig, count_nll, most_likely_ends
from tests.core.batches import make_tokens


def build(**settings: object) -> GumbelBoundaries:
    return GumbelBoundariesConfig.model_validate(settings).build(nn.Embedding(50, 16)).double()


def set_logit(boundaries: GumbelBoundaries, logit: float) -> None:
    """Set the logit of every token to a constant."""
    with torch.no_grad():
        boundaries.predictor.decide.weight.zero_()
        boundaries.predictor.decide.bias.fill_(logit)


def test_the_prior_is_binomial() -> None:
    lengths, counts = [10, 37, 1, 5], [3, 37, 0, 2]
    mask = torch.arange(37)[None] < torch.tensor(lengths)[:, None]
    ends = torch.full((4, 37), 9.0, dtype=torch.float64)  # arbitrary padding
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        ends[row, :length] = (torch.randperm(length) < count).double()
    expected = -sum(
        binom.logpmf(count, length, 0.2) / length for length, count in zip(lengths, counts, strict=True)
    ) / len(lengths)
    assert count_nll(ends, mask, 0.2).item() == pytest.approx(expected)


@pytest.mark.parametrize(("logit", "sign"), [(1.0, 1), (-3.0, -1)])
def test_the_prior_pulls_the_number_of_ends_towards_its_rate(logit: float, sign: int) -> None:
    boundaries = build(rate=0.3).train()
    set_logit(boundaries, logit)
    boundaries(make_tokens(500)).losses["boundaries"].backward()
    assert boundaries.predictor.decide.bias.grad is not None
    assert boundaries.predictor.decide.bias.grad.sign().item() == sign


@pytest.mark.slow
def test_training_samples_from_the_predicted_probabilities() -> None:
    tokens, logit = make_tokens(20000), -2.0
    probability = torch.tensor(logit).sigmoid().item()
    for boundaries in (build().train(), build(inference="sample").eval()):
        set_logit(boundaries, logit)
        ends = boundaries(tokens).ends
        assert set(ends.round(decimals=9).unique().tolist()) == {0.0, 1.0}
        assert ends.mean().item() == pytest.approx(probability, abs=0.015)
        assert not torch.equal(ends > 0.5, boundaries(tokens).ends > 0.5)


def test_hard_inference_thresholds_at_one_half() -> None:
    boundaries = build().eval()
    tokens = make_tokens(300)
    ends = boundaries(tokens).ends
    torch.testing.assert_close(ends, (boundaries.predictor(tokens).sigmoid() > 0.5).double())
    assert 0 < ends.mean() < 1


def test_the_number_of_most_likely_ends_is_the_expected_number() -> None:
    logits = torch.tensor([[0.3, 0.2, 0.45, 0.1, 0.4], [0.4, 0.4, 0.4, 0.9, 0.9], [0.9, 0.9, 0.9, 0.9, 0.9]]).logit()
    mask = torch.arange(5)[None] < torch.tensor([5, 3, 0])[:, None]
    assert most_likely_ends(logits, mask).int().tolist() == [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert most_likely_ends(logits + 1, mask).int().sum(1).tolist() == [3, 2, 0]


def test_expected_inference_ends_segments_at_low_probabilities() -> None:
    tokens = make_tokens(400, 100, length=450, pad=torch.nan)
    expected, hard = build(inference="expected").eval(), build().eval()
    for boundaries in (expected, hard):
        set_logit(boundaries, -1.0)
    assert not hard(tokens).ends.any()
    ends = expected(tokens).ends.masked_fill(~tokens.mask, 0)
    assert ends.sum(1).tolist() == [round(400 / (1 + math.e)), round(100 / (1 + math.e))]


def test_the_gradient_is_that_of_the_relaxed_sample() -> None:
    boundaries = build(temperature=0.7).eval()
    tokens = make_tokens(9)
    weights = torch.randn(1, 9, dtype=torch.float64)
    (boundaries(tokens).ends * weights).sum().backward()
    gradient = boundaries.predictor.widen.weight.grad
    boundaries.zero_grad()
    ((boundaries.predictor(tokens) / 0.7).sigmoid() * weights).sum().backward()
    torch.testing.assert_close(gradient, boundaries.predictor.widen.weight.grad)
