from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.pooling._base import Keep, top_k
from sumpool.core.pooling.iterative import IterativePoolerConfig, WeightKind, iterate, step_weights, suffix_means
from tests.core.batches import make_tokens

LENGTHS = [100, 41, 1, 0]


def draw(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(100) < torch.tensor(LENGTHS)[:, None]
    return torch.randn(4, 100, 5, dtype=dtype), torch.rand(4, 100, dtype=dtype), mask


def naive(states: Tensor, scores: Tensor, keep: int, sharpness: float, weights: WeightKind) -> Tensor:
    """One document (length, dim), vector by vector."""
    remaining = list(range(len(scores)))
    rows = []
    for _ in range(min(keep, len(scores))):
        left = scores[remaining]
        logits = left if weights == "softmax" else -((left - left.max()) ** 2)
        rows.append(torch.softmax(sharpness * logits, dim=0) @ states[remaining])
        remaining.pop(int(left.argmax()))
    return torch.stack(rows) if rows else states[:0]


def all_steps(states: Tensor, scores: Tensor, mask: Tensor, keep: Keep, sharpness: float, _: WeightKind) -> Tensor:
    return step_weights(scores, mask, *top_k(scores, mask, keep), sharpness) @ states


def sums(states: Tensor, scores: Tensor, mask: Tensor, keep: Keep, sharpness: float, _: WeightKind) -> Tensor:
    return suffix_means(states, scores, mask, keep, sharpness)


@pytest.mark.parametrize(
    ("pool", "weights"), [(iterate, "distance"), (iterate, "softmax"), (all_steps, "distance"), (sums, "softmax")]
)
def test_equals_the_loop(pool: Callable[..., Tensor], weights: WeightKind) -> None:
    states, scores, mask = draw()
    keeps: tuple[Keep, ...] = (1, 7, 60, 100, 0.25)
    for keep, sharpness in product(keeps, (0.1, 1, 20, 100)):
        rows = pool(states, scores, mask, keep, sharpness, weights)
        for number, length in enumerate(LENGTHS):
            count = min(keep, length) if isinstance(keep, int) else -(-length // 4)
            expected = naive(states[number, :length], scores[number, :length], count, sharpness, weights)
            torch.testing.assert_close(rows[number, :count], expected)
            assert not rows[number, count:].any()


def test_published_weights_of_three_scores() -> None:
    """By hand: exp(-2 (s - max)^2) of 1, .5 and 0 is 1, .6065 and .1353; then of .5 and 0 it is 1 and .6065."""
    scores, mask = torch.tensor([[0.5, 1.0, 0.0]], dtype=torch.float64), torch.ones(1, 3, dtype=torch.bool)
    weights = step_weights(scores, mask, *top_k(scores, mask, 2), 2.0)
    expected = torch.tensor([[[0.6065, 1.0, 0.1353], [1.0, 0.0, 0.6065]]], dtype=torch.float64)
    torch.testing.assert_close(weights, expected / expected.sum(2, keepdim=True), atol=1e-4, rtol=0)


@pytest.mark.parametrize("sharpness", [1, 100])
def test_suffix_sums_are_precise_where_the_scores_are_far_apart(sharpness: float) -> None:
    states = torch.randn(2, 3000, 4)
    scores = torch.rand(2, 3000).round()  # nothing between 0 and 1
    mask = torch.ones(2, 3000, dtype=torch.bool)
    exact = suffix_means(states.double(), scores.double(), mask, 2500, sharpness)
    torch.testing.assert_close(suffix_means(states, scores, mask, 2500, sharpness).double(), exact, atol=1e-4, rtol=0)


@pytest.mark.parametrize("weights", ["distance", "softmax"])
def test_gradient_is_exact(weights: WeightKind) -> None:
    states = torch.randn(2, 11, 3, dtype=torch.float64, requires_grad=True)
    scores = torch.rand(2, 11, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(11) < torch.tensor([11, 6])[:, None]

    def pool(states: Tensor, scores: Tensor) -> Tensor:
        return (all_steps if weights == "distance" else sums)(states, scores, mask, 4, 3.0, weights)

    assert torch.autograd.gradcheck(pool, (states, scores))


@pytest.mark.parametrize("weights", ["distance", "softmax"])
def test_outputs_have_the_position_of_their_heaviest_vector(weights: WeightKind) -> None:
    tokens = make_tokens(60, 9)
    pooler = IterativePoolerConfig(keep=12, sharpness=5, weights=weights).build(nn.Embedding(9, 16)).double()
    pooled = pooler(tokens).tokens
    scores = pooler.scorer(tokens)
    ranked = scores[0].argsort(descending=True)[:12]
    assert torch.equal(pooled.origin[0], ranked.sort().values)
    rows = naive(tokens.states[0], scores[0], 12, 5, weights)[ranked.argsort()]
    torch.testing.assert_close(pooled.states[0], rows)
    assert torch.equal(pooled.states[1, :9], tokens.states[1, :9])
