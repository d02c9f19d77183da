"""Summaries that are drawn: as often as the model says, within their bounds, and alone as in company."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import step as decoding_step
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.decoding.sampling import sample
from sumpool.special_tokens import BOS, EOS
from tests.core.decoding.random_steps import WORDS, BeamCache, next_log_probs, step


def draws(seed: int, samples: int, steps: int = 8) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((1, samples, steps), np.float32))


def test_every_summary_is_as_frequent_as_it_is_probable() -> None:
    count, temperature = 20000, 0.7
    (drawn,) = sample(step, BeamCache.start([1], count), [Lengths(0, 2)], draws(0, count), temperature)
    found = Counter(drawn)

    def follows(tokens: tuple[int, ...], piece: int) -> float:
        allowed = [*WORDS, EOS]
        probabilities = (next_log_probs((1, BOS, *tokens))[allowed] / temperature).softmax(-1)
        return float(probabilities[allowed.index(piece)])

    expected: dict[tuple[int, ...], float] = {(): follows((), EOS)}
    for first in WORDS:
        expected[first,] = follows((), first) * follows((first,), EOS)
        for second in WORDS:  # the longest: its end is certain
            expected[first, second] = follows((), first) * follows((first,), second)
    assert sum(expected.values()) == pytest.approx(1)
    for tokens, share in expected.items():
        assert found[tokens] / count == pytest.approx(share, abs=5 * (share / count) ** 0.5)


def test_a_low_temperature_finds_what_greedy_search_finds() -> None:
    (drawn,) = sample(step, BeamCache.start([2], 4), [Lengths(1, 4)], draws(1, 4), 1e-4)
    assert len(set(drawn)) == 1
    (warm,) = sample(step, BeamCache.start([2], 50), [Lengths(1, 4)], draws(1, 50), 2.0)
    assert len(set(warm)) > 5


def test_batch_mates_decide_nothing() -> None:
    documents, bounds = [1, 2, 3], [Lengths(0, 2), Lengths(3, 5), Lengths(1, 4)]
    every = torch.cat([draws(document, 6) for document in documents])
    together = sample(step, BeamCache.start(documents, 6), bounds, every, 0.8)
    for document, limits, own, found in zip(documents, bounds, every, together, strict=True):
        assert [found] == sample(step, BeamCache.start([document], 6), [limits], own[None], 0.8)
        assert all(limits.minimum <= len(tokens) <= limits.maximum for tokens in found)


def test_documents_that_stay_when_they_are_done_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = [Lengths(0, 1), Lengths(3, 5), Lengths(0, 2)]
    every = torch.cat([draws(document, 3) for document in (1, 2, 3)])
    left = sample(step, BeamCache.start([1, 2, 3], 3), bounds, every, 1.0)
    for leave_at in (1.0, 0.5, 0.0):
        monkeypatch.setitem(decoding_step._LEAVE_AT, "cpu", leave_at)
        assert sample(step, BeamCache.start([1, 2, 3], 3), bounds, every, 1.0) == left


def test_no_step_is_taken_for_summaries_that_have_ended() -> None:
    rows = []

    def counted(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
        rows.append(len(last))
        return step(last, state)

    (drawn,) = sample(counted, BeamCache.start([2], 9), [Lengths(0, 12)], draws(1, 9, 13), 1.0)
    lengths = [len(tokens) for tokens in drawn]
    assert rows == [sum(length >= written for length in lengths) for written in range(max(lengths) + 1)]
    assert len(set(rows)) > 2


def test_constraints_and_first_pieces_hold() -> None:
    (drawn,) = sample(
        step,
        BeamCache.start([3], 40),
        [Lengths(3, 6)],
        draws(3, 40),
        3.0,
        Rules((WORDS[0],), [NoRepeatTokens(2)]),
    )
    for tokens in drawn:
        pairs = list(pairwise(tokens))
        assert tokens[0] == WORDS[0]
        assert len(pairs) == len(set(pairs))
        assert EOS not in tokens


def test_a_summary_ends_where_nothing_may_follow() -> None:
    (drawn,) = sample(
        step, BeamCache.start([1], 3), [Lengths(40, 60)], draws(0, 3, 61), 1.0, Rules(constraints=[NoRepeatTokens(1)])
    )
    assert all(sorted(tokens) == sorted(set(tokens)) for tokens in drawn)


def test_no_piece_without_probability_is_drawn() -> None:
    highest = torch.full((1, 9, 8), float(np.nextafter(np.float32(1), np.float32(0))))
    for numbers in (torch.zeros(1, 9, 8), highest):
        (drawn,) = sample(step, BeamCache.start([1], 9), [Lengths(2, 3)], numbers, 1.0)
        assert all(2 <= len(tokens) <= 3 and set(tokens) <= set(WORDS) for tokens in drawn)


def test_nan_is_an_error() -> None:
    def broken(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
        return step(last, state)[0] * torch.nan, state

    with pytest.raises(ValueError, match="must give log-probabilities, got NaN"):
        sample(broken, BeamCache.start([1], 2), [Lengths(0, 2)], draws(0, 2), 1.0)
