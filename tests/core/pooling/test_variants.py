import math
from collections.abc import Callable
from itertools import product
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Keep, keep_counts, max_kept, top_k
from sumpool.core.pooling.distilling import DistillingPooler, DistillingPoolerConfig
from sumpool.core.pooling.funnel import FunnelPoolerConfig
from sumpool.core.pooling.hard import HardPooler, HardPoolerConfig
from sumpool.core.pooling.iterative import IterativePooler, IterativePoolerConfig, iterate, step_weights
from sumpool.core.scoring import Scorer
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens


def test_mixture_equals_a_matrix_product() -> None:
    states = torch.randn(2, 9, 4, dtype=torch.float64, requires_grad=True)
    members = torch.tensor([[[0, 3], [8, 8], [5, 1]], [[2, 7], [4, 6], [0, 0]]])
    weights = torch.rand(2, 3, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    matrix = torch.zeros(2, 3, 9, dtype=torch.float64).scatter_add(2, members, weights) * mask[..., None]
    torch.testing.assert_close(Mixture(members, weights, mask).combine(states), matrix @ states)

    def combine(states: Tensor, weights: Tensor) -> Tensor:
        return Mixture(members, weights, mask).combine(states)

    assert torch.autograd.gradcheck(combine, (states, weights))


def test_keep_counts_are_numbers_or_fractions_rounded_up() -> None:
    lengths = [0, 1, 3, 4, 10, 30, 100]
    mask = torch.arange(100) < torch.tensor(lengths)[:, None]
    keeps: tuple[Keep, ...] = (1, 4, 50, 0.01, 0.1, 0.25, 1 / 3, 0.999)
    for keep in keeps:
        expected = [min(keep, n) if isinstance(keep, int) else math.ceil(round(n * keep, 6)) for n in lengths]
        assert keep_counts(keep, mask).tolist() == expected, keep
        assert [max_kept(keep, length) for length in lengths] == expected, keep


def test_top_k_ignores_padding_and_prefers_the_first_of_ties() -> None:
    scores = torch.tensor([[0.5, 0.9, 0.5, 0.5, 0.1], [0.2, 0.3, torch.nan, torch.inf, 1.0]])
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    indices, real = top_k(scores, mask, 3)
    assert indices[0].tolist() == [1, 0, 2]
    assert indices[1, :2].tolist() == [1, 0]
    assert real.tolist() == [[True] * 3, [True, True, False]]
    assert top_k(scores, mask, 0.5)[1].tolist() == [[True] * 3, [True, False, False]]


@pytest.mark.parametrize("length", [1, 2, 3, 30, 31])
def test_equals_convolution_and_max_pooling(length: int) -> None:
    pooler = DistillingPooler(DistillingPoolerConfig(), nn.Embedding(5, 16)).double()
    tokens = make_tokens(length, 12, pad=1e3)
    pooled = pooler(tokens).tokens
    for number, real in enumerate((length, 12)):
        weight = pooler.convolve.weight.view(16, 3, 16).transpose(1, 2)  # (dim, dim, kernel)
        convolved = F.conv1d(tokens.states[number : number + 1, :real].mT, weight, pooler.convolve.bias, padding=1)
        expected = F.max_pool1d(F.elu(convolved), 3, 2, padding=1).mT[0]
        count = int(pooled.mask[number].sum())
        assert count == -(-real // 2)
        torch.testing.assert_close(pooled.states[number, :count], expected, atol=1e-12, rtol=0)
        origin = pooled.positions[number, :count]
        assert torch.equal(origin // 2, torch.arange(count))
        assert (origin < real).all()


@pytest.mark.parametrize("combine", ["mean", "max"])
@pytest.mark.parametrize(("window", "stride"), [(4, 4), (3, 1), (5, 2), (1, 1), (1, 4), (2, 3), (40, 7)])
def test_equals_window_by_window(window: int, stride: int, combine: Literal["mean", "max"]) -> None:
    lengths = [37, 1, 2, 3, 4, 5, 6, 7, 8, 12]
    tokens = make_tokens(*lengths, pad=torch.nan)
    config = FunnelPoolerConfig(window=window, stride=stride, combine=combine)
    pooled = config.build(nn.Embedding(9, 16))(tokens).tokens
    for number, length in enumerate(lengths):
        rows = []
        for start in range(0, length, stride):
            inside = tokens.states[number, start : min(start + window, length)]
            rows.append(inside.mean(0) if combine == "mean" else inside.amax(0))
            if start + window >= length:
                break
        torch.testing.assert_close(pooled.states[number][pooled.mask[number]], torch.stack(rows))


def test_a_mean_has_the_position_of_the_middle_token() -> None:
    pooled = FunnelPoolerConfig().build(nn.Embedding(9, 16))(make_tokens(11, 4)).tokens
    assert pooled.positions[pooled.mask].tolist() == [1, 5, 9, 1]


def test_a_maximum_has_the_position_of_the_token_with_most_features() -> None:
    tokens = make_tokens(6)
    states = torch.zeros_like(tokens.states)
    states[0, 2, :10] = 1
    states[0, 1, 10:] = 1
    states[0, 5] = 1
    pooled = FunnelPoolerConfig(combine="max").build(nn.Embedding(9, 16))(tokens.with_states(states))
    assert pooled.tokens.positions.tolist() == [[2, 5]]
    assert pooled.mixture().weights.tolist() == [[[0, 0.375, 0.625, 0], [0, 1, 0, 0]]]


def build(config: HardPoolerConfig) -> HardPooler:
    return HardPooler(config, nn.Embedding(9, 16)).double()


class ConstantScorer(Scorer):
    """Score by given values."""

    def __init__(self, *scores: float) -> None:
        nn.Module.__init__(self)
        self.scores = nn.Parameter(torch.tensor([scores], dtype=torch.float64))

    def forward(self, tokens: Tokens) -> torch.Tensor:
        return self.scores.expand(tokens.mask.shape)


def test_the_best_vectors_are_kept_unchanged() -> None:
    tokens = make_tokens(60, 13)
    pooler = build(HardPoolerConfig(keep=7))
    pooled = pooler(tokens)
    for number, length in enumerate([60, 13]):
        scores = pooler.scorer(tokens)[number, :length]
        best = scores.topk(7).indices.sort().values
        assert torch.equal(pooled.tokens.states[number], tokens.states[number, best])
        assert torch.equal(pooled.tokens.positions[number], best)
    mixture = pooled.mixture()
    assert torch.equal(mixture.members[..., 0], pooled.tokens.positions)
    assert (mixture.weights == 1).all()


@pytest.mark.parametrize("gradient", ["none", "straight_through"])
def test_scorer_gradient_is_that_of_a_factor(gradient: str) -> None:
    tokens = make_tokens(5)
    scores = torch.tensor([0.3, 0.9, 0.1, 0.5, 0.2], dtype=torch.float64)
    pooler = build(HardPoolerConfig.model_validate({"keep": 2, "gradient": gradient}))
    pooler.scorer = ConstantScorer(*scores.tolist())
    pooled = pooler(tokens).tokens
    if gradient == "none":
        assert not pooled.states.requires_grad
        return
    pooled.states.square().sum().backward()
    assert isinstance(pooler.scorer, ConstantScorer)
    factor = scores.clone().requires_grad_()
    kept = [1, 3]
    (tokens.states[0, kept] * (factor / factor.detach())[kept, None]).square().sum().backward()
    assert factor.grad is not None
    torch.testing.assert_close(pooler.scorer.scores.grad, factor.grad[None])


def test_scores_of_zero_and_one_are_allowed() -> None:
    tokens = make_tokens(6, dtype=torch.float32)
    pooler = build(HardPoolerConfig(keep=3))
    pooler.scorer = ConstantScorer(0, 1, 0, 1, 0, 0).float()
    pooled = pooler(tokens).tokens
    pooled.states.sum().backward()
    assert pooled.positions.tolist() == [[0, 1, 3]]
    assert torch.equal(pooled.states, tokens.states[:, [0, 1, 3]])
    assert isinstance(pooler.scorer, ConstantScorer)
    assert pooler.scorer.scores.grad is not None
    assert pooler.scorer.scores.grad.isfinite().all()


LENGTHS = [100, 41, 1, 0]


def draw(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(100) < torch.tensor(LENGTHS)[:, None]
    return torch.randn(4, 100, 5, dtype=dtype), torch.rand(4, 100, dtype=dtype), mask


def naive(states: Tensor, scores: Tensor, keep: int, sharpness: float) -> Tensor:
    """One document (length, dim), vector by vector."""
    remaining = list(range(len(scores)))
    rows = []
    for _ in range(min(keep, len(scores))):
        left = scores[remaining]
        rows.append(torch.softmax(-sharpness * (left - left.max()) ** 2, dim=0) @ states[remaining])
        remaining.pop(int(left.argmax()))
    return torch.stack(rows) if rows else states[:0]


def all_steps(states: Tensor, scores: Tensor, mask: Tensor, keep: Keep, sharpness: float) -> Tensor:
    return step_weights(scores, mask, *top_k(scores, mask, keep), sharpness) @ states


@pytest.mark.parametrize("pool", [iterate, all_steps])
def test_equals_the_loop(pool: Callable[..., Tensor]) -> None:
    states, scores, mask = draw()
    keeps: tuple[Keep, ...] = (1, 7, 60, 100, 0.25)
    for keep, sharpness in product(keeps, (0.1, 1, 20, 100)):
        rows = pool(states, scores, mask, keep, sharpness)
        for number, length in enumerate(LENGTHS):
            count = min(keep, length) if isinstance(keep, int) else -(-length // 4)
            expected = naive(states[number, :length], scores[number, :length], count, sharpness)
            torch.testing.assert_close(rows[number, :count], expected)
            assert not rows[number, count:].any()


def test_published_weights_of_three_scores() -> None:
    """By hand: exp(-2 (s - max)^2) of 1, .5 and 0 is 1, .6065 and .1353; then of .5 and 0 it is 1 and .6065."""
    scores, mask = torch.tensor([[0.5, 1.0, 0.0]], dtype=torch.float64), torch.ones(1, 3, dtype=torch.bool)
    weights = step_weights(scores, mask, *top_k(scores, mask, 2), 2.0)
    expected = torch.tensor([[[0.6065, 1.0, 0.1353], [1.0, 0.0, 0.6065]]], dtype=torch.float64)
    torch.testing.assert_close(weights, expected / expected.sum(2, keepdim=True), atol=1e-4, rtol=0)


def test_gradient_is_exact() -> None:
    states = torch.randn(2, 11, 3, dtype=torch.float64, requires_grad=True)
    scores = torch.rand(2, 11, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(11) < torch.tensor([11, 6])[:, None]

    def pool(states: Tensor, scores: Tensor) -> Tensor:
        return all_steps(states, scores, mask, 4, 3.0)

    assert torch.autograd.gradcheck(pool, (states, scores))


def test_outputs_have_the_position_of_their_heaviest_vector() -> None:
    tokens = make_tokens(60, 9)
    pooler = IterativePooler(IterativePoolerConfig(keep=12, sharpness=5), nn.Embedding(9, 16)).double()
    pooled = pooler(tokens).tokens
    scores = pooler.scorer(tokens)
    ranked = scores[0].argsort(descending=True)[:12]
    assert torch.equal(pooled.positions[0], ranked.sort().values)
    rows = naive(tokens.states[0], scores[0], 12, 5)[ranked.argsort()]
    torch.testing.assert_close(pooled.states[0], rows)
    assert torch.equal(pooled.states[1, :9], tokens.states[1, :9])
