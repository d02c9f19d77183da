import math
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.pooling.halving import HalvingPooler, HalvingPoolerConfig, Peak, Sort, halve
from tests.core.batches import make_tokens, mask_of

PEAK = Peak()
every_sort = pytest.mark.parametrize("sort", get_args(Sort))


def naive(scores: Tensor, keep: int, sort: Sort) -> Tensor:
    """Algorithm 1 on one document, vector by vector: weights (keep, length) in the order of the heaviest vector."""
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
    return weights[weights.argmax(1).argsort()]


@every_sort
@pytest.mark.parametrize("keep", [1, 2, 7, 50, 1e-12, 0.03, 0.3, 0.9])
@pytest.mark.parametrize("max_length", [None, 200])
def test_equals_the_naive_algorithm(max_length: int | None, keep: float, sort: Sort) -> None:
    """Rounds of longer documents change nothing, be they batch mates or only possible."""
    lengths = [1, 3, 16, 37, 64, 100, 129]
    mask = mask_of(*lengths)
    scores = torch.rand(mask.shape, dtype=torch.float64)
    states = torch.randn(*mask.shape, 5, dtype=torch.float64)
    mixture, heaviest, _ = halve(scores, mask, keep, PEAK, False, sort, max_length)
    survivors = mixture.combine(states)
    for number, length in enumerate(lengths):
        count = keep if isinstance(keep, int) else math.ceil(keep * length)
        weights, real = naive(scores[number, :length].clone(), count, sort), mixture.mask[number]
        torch.testing.assert_close(survivors[number][real], weights @ states[number, :length])
        assert torch.equal(heaviest[number][real], weights.argmax(1))


def test_peaks() -> None:
    better = torch.tensor([0.9, 0.6, 0.55, 0.51])
    weights = PEAK.weight(better, 1 - better).tolist()
    assert weights == pytest.approx([1.0, 0.9382, 0.7933, 0.567], abs=1e-3)  # the released double exponential
    plain = Peak(kind="plain").weight(better, 1 - better)[1].item()
    assert plain == pytest.approx(math.exp(0.6) / (math.exp(0.6) + math.exp(0.4)), abs=1e-6)  # equation 6
    scaled = Peak(kind="scaled", base=10).weight(better, 1 - better)[1].item()
    assert scaled == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-6)


@every_sort
def test_gradient_is_exact(sort: Sort) -> None:
    scores = torch.rand(2, 11, dtype=torch.float64, requires_grad=True)
    states = torch.randn(2, 11, 3, dtype=torch.float64, requires_grad=True)

    def pool(states: Tensor, scores: Tensor) -> Tensor:
        return halve(scores, mask_of(11, 6), 4, PEAK, sort=sort)[0].combine(states)

    assert torch.autograd.gradcheck(pool, (states, scores))


@pytest.mark.parametrize("sort", ["each_round", "once"])
def test_hard_is_top_k(sort: Sort) -> None:
    scores = torch.rand(4, 301)
    mixture, heaviest, _ = halve(scores, mask_of(*[301] * 4), 17, PEAK, hard=True, sort=sort)
    assert torch.equal(heaviest, scores.topk(17, dim=1).indices.sort(dim=1).values)
    assert set(mixture.weights.unique().tolist()) == {0.0, 1.0}


def test_hard_inference_keeps_training_soft() -> None:
    pooler = HalvingPoolerConfig(keep=5, inference="hard").build(nn.Embedding(9, 16)).double()
    assert isinstance(pooler, HalvingPooler)
    tokens = make_tokens(40)
    source = {tuple(vector.tolist()) for vector in tokens.states[0]}
    soft, hard = (pooler.train(training)(tokens).tokens.states[0] for training in (True, False))
    assert all(tuple(vector.tolist()) in source for vector in hard)
    assert not any(tuple(vector.tolist()) in source for vector in soft)


def test_winner_share_is_the_mean_weight_of_the_better_of_real_pairs() -> None:
    scores = torch.tensor([[0.6, 0.4, 0.0, 0.0]], dtype=torch.float64)
    mask = mask_of(2, length=4)
    *_, share = halve(scores, mask, 1, PEAK)
    assert share.item() == pytest.approx(0.9382, abs=1e-4)
    _, heaviest, share = halve(scores[:, [1, 0, 2, 3]], mask, 1, PEAK, sort="never")
    assert share.item() == pytest.approx(0.9382, abs=1e-4)
    assert heaviest.tolist() == [[1]]
    scores = torch.rand(3, 64, dtype=torch.float64)
    mask = mask_of(64, 7, 1)  # short documents are not halved
    assert halve(scores, mask, 8, PEAK)[2] == halve(scores[:1], mask[:1], 8, PEAK)[2]
    assert halve(scores[1:], mask[1:], 64, PEAK)[2].isnan()
