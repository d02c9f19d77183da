from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.pooling._base import Keep, top_k
from sumpool.core.pooling.iterative import IterativePoolerConfig, iterate, step_weights
from tests.core.batches import make_tokens

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
    pooler = IterativePoolerConfig(keep=12, sharpness=5).build(nn.Embedding(9, 16)).double()
    pooled = pooler(tokens).tokens
    scores = pooler.scorer(tokens)
    ranked = scores[0].argsort(descending=True)[:12]
    assert torch.equal(pooled.origin[0], ranked.sort().values)
    rows = naive(tokens.states[0], scores[0], 12, 5)[ranked.argsort()]
    torch.testing.assert_close(pooled.states[0], rows)
    assert torch.equal(pooled.states[1, :9], tokens.states[1, :9])
