import math
from itertools import product
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.pooling.halving import HalvingPooler, HalvingPoolerConfig, Peak, Sort, halve
from tests.core.batches import make_tokens

PEAK = Peak()


def full_mask(scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool)


def naive(states: Tensor, scores: Tensor, keep: int, sort: Sort = "each_round") -> Tensor:
    """Algorithm 1 on one document (length, dim), vector by vector, in the order of the heaviest source token."""
    weights = torch.eye(len(scores), dtype=scores.dtype)
    rounds = max(0, math.ceil(math.log2(len(scores) / keep)))
    slots = keep * 2**rounds
    for number in range(rounds):
        if sort == "each_round" or (sort == "once" and number == 0):
            order = scores.argsort(descending=True, stable=True)
            weights, scores = weights[order], scores[order]
        slots //= 2
        for left, right in enumerate(range(2 * slots - 1, slots - 1, -1)):
            if right < len(scores):
                weight = torch.sigmoid(20 ** scores[left] - 20 ** scores[right])
                weights[left] = weight * weights[left] + (1 - weight) * weights[right]
                scores[left] = weight * scores[left] + (1 - weight) * scores[right]
        weights, scores = weights[:slots], scores[:slots]
    return weights[weights.argmax(1).argsort()] @ states


@pytest.mark.parametrize("sort", get_args(Sort))
def test_equals_the_naive_algorithm(sort: Sort) -> None:
    for length, keep in product((3, 16, 37, 100, 129), (1, 2, 7, 16, 50)):
        states = torch.randn(2, length, 5, dtype=torch.float64)
        scores = torch.rand(2, length, dtype=torch.float64)
        survivors = halve(scores, full_mask(scores), keep, PEAK, sort=sort).mixture.combine(states)
        for number in range(2):
            expected = naive(states[number], scores[number].clone(), keep, sort)
            torch.testing.assert_close(survivors[number, : len(expected)], expected)


@pytest.mark.parametrize("sort", get_args(Sort))
@pytest.mark.parametrize("keep", [7, 0.3])
def test_the_rounds_of_longer_documents_change_nothing(keep: int | float, sort: Sort) -> None:
    for length in (1, 5, 7, 8, 50, 64):
        scores = torch.rand(3, length, dtype=torch.double)
        mask = torch.arange(length) < torch.tensor([[length], [1], [(length + 1) // 2]])
        states = torch.randn(3, length, 4, dtype=torch.double)
        expected, longer = halve(scores, mask, keep, PEAK, sort=sort), halve(scores, mask, keep, PEAK, False, sort, 200)
        survivors = expected.mixture.mask.size(1)
        assert torch.equal(longer.mixture.mask[:, :survivors], expected.mixture.mask)
        assert not longer.mixture.mask[:, survivors:].any()
        pooled = longer.mixture.combine(states)[:, :survivors]
        assert torch.allclose(pooled, expected.mixture.combine(states), atol=1e-12)
        assert torch.equal(
            longer.heaviest[:, :survivors][expected.mixture.mask], expected.heaviest[expected.mixture.mask]
        )


@pytest.mark.parametrize("sort", get_args(Sort))
@pytest.mark.parametrize("keep", [0.03, 0.3, 0.9])
def test_every_document_is_halved_to_its_own_fraction(keep: float, sort: Sort) -> None:
    lengths = [1, 2, 3, 37, 64, 150]
    states = torch.randn(len(lengths), 150, 5, dtype=torch.float64)
    scores = torch.rand(len(lengths), 150, dtype=torch.float64)
    mask = torch.arange(150) < torch.tensor(lengths)[:, None]
    mixture = halve(scores, mask, keep, PEAK, sort=sort).mixture
    survivors = mixture.combine(states)
    for number, length in enumerate(lengths):
        expected = naive(states[number, :length], scores[number, :length].clone(), math.ceil(keep * length), sort)
        torch.testing.assert_close(survivors[number][mixture.mask[number]], expected)


def test_the_default_peak_is_the_released_double_exponential() -> None:
    better = torch.tensor([0.9, 0.6, 0.55, 0.51])
    weights = PEAK.weight(better, 1 - better).tolist()
    assert weights == pytest.approx([1.0, 0.9382, 0.7933, 0.567], abs=1e-3)


def test_the_other_peaks() -> None:
    better, worse = torch.tensor(0.6), torch.tensor(0.4)
    plain = Peak(kind="plain").weight(better, worse).item()
    assert plain == pytest.approx(math.exp(0.6) / (math.exp(0.6) + math.exp(0.4)), abs=1e-6)  # equation 6
    scaled = Peak(kind="scaled", base=10).weight(better, worse).item()
    assert scaled == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-6)


@pytest.mark.parametrize("sort", get_args(Sort))
def test_gradient_is_exact(sort: Sort) -> None:
    scores = torch.rand(2, 11, dtype=torch.float64, requires_grad=True)
    states = torch.randn(2, 11, 3, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(11)[None] < torch.tensor([11, 6])[:, None]

    def pool(states: Tensor, scores: Tensor) -> Tensor:
        return halve(scores, mask, 4, PEAK, sort=sort).mixture.combine(states)

    assert torch.autograd.gradcheck(pool, (states, scores))


@pytest.mark.parametrize("sort", ["each_round", "once"])
def test_hard_is_top_k(sort: Sort) -> None:
    scores = torch.rand(4, 301)
    tournament = halve(scores, full_mask(scores), 17, PEAK, hard=True, sort=sort)
    best = scores.topk(17, dim=1).indices.sort(dim=1).values
    assert torch.equal(tournament.heaviest, best)
    assert set(tournament.mixture.weights.unique().tolist()) == {0.0, 1.0}


def test_hard_inference_keeps_training_soft() -> None:
    pooler = HalvingPoolerConfig(keep=5, inference="hard").build(nn.Embedding(9, 16)).double()
    assert isinstance(pooler, HalvingPooler)
    tokens = make_tokens(40)
    source = {tuple(vector.tolist()) for vector in tokens.states[0]}
    soft = pooler.train()(tokens).tokens.states[0]
    hard = pooler.eval()(tokens).tokens.states[0]
    assert all(tuple(vector.tolist()) in source for vector in hard)
    assert not any(tuple(vector.tolist()) in source for vector in soft)


def test_winner_share_counts_real_pairs_only() -> None:
    scores = torch.tensor([[0.6, 0.4, 0.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False, False]])
    assert halve(scores, mask, 1, PEAK).winner_share.item() == pytest.approx(0.9382, abs=1e-4)
    swapped = halve(scores[:, [1, 0, 2, 3]], mask, 1, PEAK, sort="never")
    assert swapped.winner_share.item() == pytest.approx(0.9382, abs=1e-4)
    assert swapped.heaviest.tolist() == [[1]]


def test_winner_share_is_independent_of_short_batch_mates() -> None:
    scores = torch.rand(3, 64, dtype=torch.float64)
    mask = torch.arange(64) < torch.tensor([64, 7, 1])[:, None]  # short documents are not halved
    assert halve(scores, mask, 8, PEAK).winner_share == halve(scores[:1], mask[:1], 8, PEAK).winner_share


def test_winner_share_is_nan_without_pairs() -> None:
    scores = torch.rand(2, 5)
    tournament = halve(scores, full_mask(scores), 8, PEAK)
    assert tournament.heaviest.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert tournament.winner_share.isnan()
