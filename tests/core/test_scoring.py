"""Scorers, each against a naive version."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.scoring import (
    AttentionMassScorerConfig,
    CoordinateScorerConfig,
    LinearScorerConfig,
    NonlinearScorer,
    NonlinearScorerConfig,
    RandomScorerConfig,
    StridedScorerConfig,
)
from tests.core.batches import make_tokens


def test_nonlinear_is_a_hidden_layer_of_tanh() -> None:
    scorer = NonlinearScorer(NonlinearScorerConfig(), 16).double()
    tokens = make_tokens(9)
    hidden = torch.tanh(tokens.states @ scorer.hidden.weight.T + scorer.hidden.bias)
    expected = torch.sigmoid((hidden * scorer.direction.weight[0]).sum(-1) + scorer.direction.bias)
    torch.testing.assert_close(scorer(tokens), expected)


@torch.inference_mode()
def test_batch_mates_change_no_bit_of_a_score() -> None:
    scorer, tokens = LinearScorerConfig().build(256), make_tokens(700)
    tokens = replace(tokens, states=torch.randn(1, 700, 256))
    scores = scorer(tokens)
    for length in range(1, 40):
        alone = scorer(replace(tokens, states=tokens.states[:, :length]))
        assert torch.equal(alone, scores[:, :length])


def test_coordinate_reads_one_feature() -> None:
    tokens = make_tokens(9)
    scores = CoordinateScorerConfig(feature=15).build(16)(tokens)
    torch.testing.assert_close(scores, 1 / (1 + torch.exp(-tokens.states[:, :, 15])))


def test_strided_scores_the_first_token_of_every_stride() -> None:
    assert StridedScorerConfig(every=3).build(16)(make_tokens(7)).tolist() == [[1, 0, 0, 1, 0, 0, 1]]
    assert StridedScorerConfig(every=1).build(16)(make_tokens(2)).tolist() == [[1, 1]]


def test_random_draws_from_torchs_generator_in_training() -> None:
    scorer, tokens = RandomScorerConfig().build(16), make_tokens(50, 50)
    torch.manual_seed(3)
    first = scorer(tokens)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(scorer(tokens), first)
    torch.manual_seed(3)
    assert torch.equal(scorer(tokens), first)


def test_random_is_constant_and_uniform_in_evaluation() -> None:
    scorer, tokens = RandomScorerConfig().build(16).eval(), make_tokens(10_000, 20)
    scores = scorer(tokens)[0]
    assert torch.equal(scores, scorer(tokens)[0])
    expected = torch.linspace(0, 1, 10_000, dtype=scores.dtype)
    assert (scores.sort().values - expected).abs().max() < 1.63 / 10_000**0.5  # Kolmogorov-Smirnov, 1 %
    neighbours = torch.stack([scores[:-1], scores[1:]]).corrcoef()[0, 1]
    assert neighbours.abs() < 2.58 / 10_000**0.5


@pytest.mark.parametrize(("itself", "expected"), [(True, [0.0, 0.5, 0.75]), (False, [0.0, 0.0, 0.5])])
def test_attention_mass_bounds_the_attention_received(itself: bool, expected: list[float]) -> None:
    def received(include_self: bool) -> Tensor:
        return torch.tensor([[0.0, 1.0, 3.0]]) if include_self else torch.tensor([[0.0, 0.0, 1.0]])

    tokens = replace(make_tokens(3), attention_received=received)
    assert AttentionMassScorerConfig(itself=itself).build(16)(tokens).tolist() == [expected]


def test_attention_mass_without_an_attention_layer_is_an_error() -> None:
    with pytest.raises(ValueError, match="attention_received must come from an attention with weights, got None"):
        AttentionMassScorerConfig().build(16)(make_tokens(3))
