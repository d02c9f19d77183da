import math
from collections.abc import Callable
from itertools import product
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.pooling._base import Keep, keep_counts, max_kept, top_k
from sumpool.core.pooling.distilling import DistillingPooler, DistillingPoolerConfig
from sumpool.core.pooling.funnel import FunnelPoolerConfig
from sumpool.core.pooling.hard import HardPooler, HardPoolerConfig
from sumpool.core.pooling.iterative import IterativePooler, IterativePoolerConfig, iterate, step_weights
from sumpool.core.scoring import Scorer
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens, mask_of

EMBEDDING = nn.Embedding(9, 16)


def test_keep_counts_are_numbers_or_fractions_rounded_up() -> None:
    lengths = [0, 1, 3, 4, 10, 30, 100]
    keeps: tuple[Keep, ...] = (1, 4, 50, 0.01, 0.1, 0.25, 1 / 3, 0.999)
    for keep in keeps:
        expected = [min(keep, n) if isinstance(keep, int) else math.ceil(round(n * keep, 6)) for n in lengths]
        assert keep_counts(keep, mask_of(*lengths)).tolist() == expected, keep
        assert [max_kept(keep, length) for length in lengths] == expected, keep
    assert keep_counts(1e-12, mask_of(0, 1, 100)).tolist() == [0, 1, 1]
    assert [max_kept(1e-12, length) for length in (0, 1, 100)] == [0, 1, 1]


def test_top_k_ignores_padding_and_prefers_the_first_of_ties() -> None:
    scores = torch.tensor([[0.5, 0.9, 0.5, 0.5, 0.1], [0.2, 0.3, torch.nan, torch.inf, 1.0]])
    indices, real = top_k(scores, mask_of(5, 2), 3)
    assert indices[0].tolist() == [1, 0, 2]
    assert indices[1, :2].tolist() == [1, 0]
    assert real.tolist() == [[True] * 3, [True, True, False]]
    assert top_k(scores, mask_of(5, 2), 0.5)[1].tolist() == [[True] * 3, [True, False, False]]


def test_distilling_equals_convolution_and_max_pooling() -> None:
    pooler = DistillingPooler(DistillingPoolerConfig(), EMBEDDING).double()
    weight = pooler.convolve.weight.view(16, 3, 16).transpose(1, 2)  # (dim, dim, kernel)
    for lengths in ((1, 2, 3, 12, 30), (12, 31)):
        tokens = make_tokens(*lengths, pad=1e3)
        pooled = pooler(tokens).tokens
        for number, real in enumerate(lengths):
            convolved = F.conv1d(tokens.states[number : number + 1, :real].mT, weight, pooler.convolve.bias, padding=1)
            expected = F.max_pool1d(F.elu(convolved), 3, 2, padding=1).mT[0]
            torch.testing.assert_close(pooled.states[number][pooled.mask[number]], expected, atol=1e-12, rtol=0)
            origin = pooled.positions[number][pooled.mask[number]]
            assert torch.equal(origin // 2, torch.arange(-(-real // 2)))
            assert (origin < real).all()


@pytest.mark.parametrize("combine", ["mean", "max"])
@pytest.mark.parametrize(("window", "stride"), [(4, 4), (3, 1), (5, 2), (1, 1), (1, 4), (2, 3), (40, 7)])
def test_funnel_equals_window_by_window(window: int, stride: int, combine: Literal["mean", "max"]) -> None:
    lengths = [37, 1, 2, 3, 4, 5, 6, 7, 8, 12]
    tokens = make_tokens(*lengths, pad=torch.nan)
    pooled = FunnelPoolerConfig(window=window, stride=stride, combine=combine).build(EMBEDDING)(tokens).tokens
    for number, length in enumerate(lengths):
        rows = []
        for start in range(0, length, stride):
            inside = tokens.states[number, start : min(start + window, length)]
            rows.append(inside.mean(0) if combine == "mean" else inside.amax(0))
            if start + window >= length:
                break
        torch.testing.assert_close(pooled.states[number][pooled.mask[number]], torch.stack(rows))


def test_funnel_takes_the_position_of_the_middle_token_or_of_that_with_most_features() -> None:
    mean = FunnelPoolerConfig().build(EMBEDDING)(make_tokens(11, 4)).tokens
    assert mean.positions[mean.mask].tolist() == [1, 5, 9, 1]
    tokens = make_tokens(6)
    states = torch.zeros_like(tokens.states)
    states[0, 2, :10] = states[0, 1, 10:] = states[0, 5] = 1
    maximum = FunnelPoolerConfig(combine="max").build(EMBEDDING)(tokens.with_states(states))
    assert maximum.tokens.positions.tolist() == [[2, 5]]
    assert maximum.mixture().weights.tolist() == [[[0, 0.375, 0.625, 0], [0, 1, 0, 0]]]


class ConstantScorer(Scorer):
    """Score by given values."""

    def __init__(self, *scores: float) -> None:
        nn.Module.__init__(self)
        self.scores = nn.Parameter(torch.tensor([scores], dtype=torch.float64))

    def forward(self, tokens: Tokens) -> Tensor:
        return self.scores.expand(tokens.mask.shape)


def test_hard_keeps_the_best_vectors_unchanged() -> None:
    tokens, pooler = make_tokens(60, 13), HardPooler(HardPoolerConfig(keep=7), EMBEDDING).double()
    pooled = pooler(tokens).tokens
    for number, length in enumerate([60, 13]):
        best = pooler.scorer(tokens)[number, :length].topk(7).indices.sort().values
        assert torch.equal(pooled.states[number], tokens.states[number, best])
        assert torch.equal(pooled.positions[number], best)


def test_hard_has_no_gradient_or_that_of_a_factor() -> None:
    tokens, scorer = make_tokens(6), ConstantScorer(0.3, 0.9, 0.0, 1.0, 0.2, 0.0)
    without, pooler = (
        HardPooler(HardPoolerConfig.model_validate({"keep": 5, "gradient": gradient}), EMBEDDING)
        for gradient in ("none", "straight_through")
    )
    without.scorer = pooler.scorer = scorer
    assert not without(tokens).tokens.states.requires_grad
    pooled = pooler(tokens).tokens
    assert torch.equal(pooled.states, tokens.states[:, :5])
    pooled.states.square().sum().backward()
    positive = [0, 1, 3, 4]
    factor = scorer.scores[0, positive].detach().requires_grad_()
    (tokens.states[0, positive] * (factor / factor.detach())[:, None]).square().sum().backward()
    gradient = scorer.scores.grad
    assert gradient is not None
    torch.testing.assert_close(gradient[0, positive], factor.grad)
    assert gradient.isfinite().all()  # also that of a score of zero
    assert gradient[0, 5] == 0


LENGTHS = [100, 41, 1, 0]


def naive(states: Tensor, scores: Tensor, keep: int, sharpness: float) -> Tensor:
    """Iterative top-k on one document (length, dim), vector by vector."""
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
def test_iterative_equals_the_loop(pool: Callable[..., Tensor]) -> None:
    states = torch.randn(4, 100, 5, dtype=torch.float64)
    scores = torch.rand(4, 100, dtype=torch.float64)
    keeps: tuple[Keep, ...] = (1, 7, 60, 100, 0.25)
    for keep, sharpness in product(keeps, (0.1, 1, 20, 100)):
        rows = pool(states, scores, mask_of(*LENGTHS), keep, sharpness)
        for number, length in enumerate(LENGTHS):
            count = min(keep, length) if isinstance(keep, int) else -(-length // 4)
            expected = naive(states[number, :length], scores[number, :length], count, sharpness)
            torch.testing.assert_close(rows[number, :count], expected)
            assert not rows[number, count:].any()


def test_iterative_gradient_is_exact() -> None:
    states = torch.randn(2, 11, 3, dtype=torch.float64, requires_grad=True)
    scores = torch.rand(2, 11, dtype=torch.float64, requires_grad=True)

    def pool(states: Tensor, scores: Tensor) -> Tensor:
        return all_steps(states, scores, mask_of(11, 6), 4, 3.0)

    assert torch.autograd.gradcheck(pool, (states, scores))


def test_iterative_outputs_have_the_position_of_their_heaviest_vector() -> None:
    tokens = make_tokens(60, 9)
    pooler = IterativePooler(IterativePoolerConfig(keep=12, sharpness=5), EMBEDDING).double()
    pooled, scores = pooler(tokens).tokens, pooler.scorer(tokens)
    ranked = scores[0].argsort(descending=True)[:12]
    assert torch.equal(pooled.positions[0], ranked.sort().values)
    torch.testing.assert_close(pooled.states[0], naive(tokens.states[0], scores[0], 12, 5)[ranked.argsort()])
    assert torch.equal(pooled.states[1, :9], tokens.states[1, :9])
