import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.pooling import halving
from sumpool.core.pooling.halving import HalvingConfig, HalvingPooler, Peak, halve
from sumpool.core.tokens import Tokens

PEAK = Peak()


def real(scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool)


def naive(states: Tensor, scores: Tensor, keep: int) -> Tensor:
    """Algorithm 1 on one document (length, dim), vector by vector, with the order of the heaviest source token."""
    weights = torch.eye(len(scores), dtype=scores.dtype)
    rounds = max(0, math.ceil(math.log2(len(scores) / keep)))
    slots = keep * 2**rounds
    for _ in range(rounds):
        order = scores.argsort(descending=True, stable=True).tolist()
        padded = [*order, *[None] * (slots - len(order))]
        slots //= 2
        pairs = []
        for rank in range(slots):
            best, worst = padded[rank], padded[2 * slots - 1 - rank]
            if best is None:
                continue
            share = torch.ones((), dtype=scores.dtype)
            if worst is not None:
                share = torch.sigmoid(20 ** scores[best] - 20 ** scores[worst])
                row = share * weights[best] + (1 - share) * weights[worst]
                pairs.append((row, share * scores[best] + (1 - share) * scores[worst]))
            else:
                pairs.append((weights[best], scores[best]))
        pairs.sort(key=lambda pair: int(pair[0].argmax()))
        weights = torch.stack([row for row, _ in pairs])
        scores = torch.stack([score for _, score in pairs])
    return weights @ states


@pytest.mark.parametrize("length", [3, 16, 37, 100, 129])
@pytest.mark.parametrize("keep", [1, 2, 7, 16, 50])
def test_equals_the_algorithm_played_by_hand(length: int, keep: int) -> None:
    states = torch.randn(2, length, 5, dtype=torch.float64)
    scores = torch.rand(2, length, dtype=torch.float64)
    survivors = halve(scores, real(scores), keep, PEAK).mixture.combine(states)
    for number in range(2):
        expected = naive(states[number], scores[number], keep)
        torch.testing.assert_close(survivors[number, : len(expected)], expected)


@pytest.mark.parametrize(
    ("better", "worse", "share"), [(0.9, 0.1, 1.0), (0.6, 0.4, 0.9382), (0.55, 0.45, 0.7933), (0.51, 0.49, 0.567)]
)
def test_the_default_peak_is_the_released_double_exponential(better: float, worse: float, share: float) -> None:
    assert PEAK.share(torch.tensor(better), torch.tensor(worse)).item() == pytest.approx(share, abs=1e-3)


def test_the_other_peaks() -> None:
    better, worse = torch.tensor(0.6), torch.tensor(0.4)
    plain = Peak(kind="plain").share(better, worse).item()
    assert plain == pytest.approx(math.exp(0.6) / (math.exp(0.6) + math.exp(0.4)), abs=1e-6)  # equation 6
    scaled = Peak(kind="scaled", base=10).share(better, worse).item()
    assert scaled == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-6)


@pytest.mark.parametrize(("keep", "expected"), [(512, 0.986), (32, 0.921)])
def test_survivors_resemble_the_best_as_in_the_paper(keep: int, expected: float) -> None:
    scores = torch.rand(16, 2048).sort(dim=1, descending=True).values
    states = torch.rand(16, 2048, 32) * 2 - 1
    survivors = halve(scores, real(scores), keep, PEAK).mixture.combine(states)
    best = torch.nn.functional.normalize(states[:, :keep], dim=-1)
    found = torch.nn.functional.normalize(survivors, dim=-1)
    nccs = (best @ found.transpose(1, 2)).amax(-1).mean().item()
    assert nccs == pytest.approx(expected, abs=0.008)


def test_gradient_is_exact() -> None:
    scores = torch.rand(2, 11, dtype=torch.float64, requires_grad=True)
    states = torch.randn(2, 11, 3, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(11)[None] < torch.tensor([11, 6])[:, None]

    def pool(states: Tensor, scores: Tensor) -> Tensor:
        return halve(scores, mask, 4, PEAK).mixture.combine(states)

    assert torch.autograd.gradcheck(pool, (states, scores))


def test_survivors_are_in_source_order_after_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[Tensor] = []
    play = halving._play_round

    def watch(*given: object) -> object:
        played = play(*given)  # type: ignore[arg-type]
        rounds.append(played[0].heaviest)
        return played

    monkeypatch.setattr(halving, "_play_round", watch)
    scores = torch.rand(8, 1000)
    halve(scores, real(scores), 30, PEAK)
    assert [survivors.size(1) for survivors in rounds] == [960, 480, 240, 120, 60, 30][-len(rounds) :]
    for survivors in rounds:
        assert (survivors.diff(dim=1) > 0).all()


def test_weights_sum_to_one_and_every_token_counts_once() -> None:
    scores = torch.rand(3, 100, dtype=torch.float64)
    mask = torch.arange(100)[None] < torch.tensor([100, 40, 7])[:, None]
    tournament = halve(scores, mask, 12, PEAK)
    sums = tournament.mixture.weights.sum(-1)
    torch.testing.assert_close(sums, tournament.mixture.mask.double())
    for number, length in enumerate([100, 40, 7]):
        behind = tournament.mixture.members[number][tournament.mixture.weights[number] > 0]
        assert len(behind) == len(behind.unique())
        assert behind.max() < length


def test_hard_is_top_k() -> None:
    scores = torch.rand(4, 301)
    tournament = halve(scores, real(scores), 17, PEAK, hard=True)
    best = scores.topk(17, dim=1).indices.sort(dim=1).values
    assert torch.equal(tournament.heaviest, best)
    assert set(tournament.mixture.weights.unique().tolist()) == {0.0, 1.0}


def test_hard_inference_leaves_training_soft(make_tokens: Callable[..., Tokens]) -> None:
    pooler = HalvingConfig(keep=5, inference="hard").build(nn.Embedding(9, 16)).double()
    assert isinstance(pooler, HalvingPooler)
    tokens = make_tokens(40)
    source = {tuple(vector.tolist()) for vector in tokens.states[0]}
    soft = pooler.train()(tokens).tokens.states[0]
    hard = pooler.eval()(tokens).tokens.states[0]
    assert all(tuple(vector.tolist()) in source for vector in hard)
    assert not any(tuple(vector.tolist()) in source for vector in soft)


def test_winner_share_is_that_of_real_pairs() -> None:
    scores = torch.tensor([[0.6, 0.4, 0.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False, False]])
    assert halve(scores, mask, 1, PEAK).winner_share.item() == pytest.approx(0.9382, abs=1e-4)
