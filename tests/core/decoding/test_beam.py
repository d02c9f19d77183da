"""Beam search, against brute force, greedy search, and other batches."""

import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import beam as decoding_beam
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import Rules
from sumpool.special_tokens import BOS, EOS
from tests.core.decoding.random_steps import (
    VOCAB,
    WORDS,
    PrefixState,
    log_probability,
    next_log_probs,
    step,
    table,
)


def brute_force(document: int, lengths: Lengths, length_penalty: float) -> list[tuple[float, tuple[int, ...]]]:
    scored = [
        (log_probability(document, tokens) / (len(tokens) + 1) ** length_penalty, tokens)
        for length in range(lengths.minimum, lengths.maximum + 1)
        for tokens in itertools.product(WORDS, repeat=length)
    ]
    return sorted(scored, key=lambda pair: -pair[0])


@pytest.mark.parametrize(
    ("lengths", "length_penalty"),
    [
        (Lengths(0, 3), 0.0),
        (Lengths(0, 3), 1.0),
        (Lengths(0, 3), 2.0),
        (Lengths(2, 3), 0.7),
        (Lengths(3, 3), 1.0),
        (Lengths(0, 0), 1.0),
        pytest.param(Lengths(0, 4), 0.7, marks=pytest.mark.slow),
        pytest.param(Lengths(2, 4), 2.0, marks=pytest.mark.slow),
    ],
)
def test_equals_brute_force_where_every_prefix_fits_the_beam(lengths: Lengths, length_penalty: float) -> None:
    beams = 5 * len(WORDS) ** max(lengths.maximum - 1, 0)
    results = search(step, PrefixState.start([1, 2], beams), [lengths] * 2, Ranking(beams, length_penalty))
    for document, hypotheses in zip([1, 2], results, strict=True):
        expected = brute_force(document, lengths, length_penalty)[:beams]
        assert [hypothesis.tokens for hypothesis in hypotheses[:20]] == [tokens for _, tokens in expected[:20]]
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == pytest.approx([score for score, _ in expected], abs=1e-5)
        assert hypotheses[0].log_prob == pytest.approx(log_probability(document, hypotheses[0].tokens), abs=1e-5)


def greedy(document: int, lengths: Lengths) -> tuple[int, ...]:
    tokens: list[int] = []
    while len(tokens) < lengths.maximum:
        log_probs = next_log_probs((document, BOS, *tokens))
        log_probs[:EOS] = -math.inf
        if len(tokens) < lengths.minimum:
            log_probs[EOS] = -math.inf
        token = int(log_probs.argmax())
        if token == EOS:
            break
        tokens.append(token)
    return tuple(tokens)


def test_one_beam_is_greedy() -> None:
    lengths = [Lengths(number % 5, 5 + number % 20) for number in range(40)]
    results = search(step, PrefixState.start(range(40), 1), lengths, Ranking(1))
    assert [hypotheses[0].tokens for hypotheses in results] == [greedy(*pair) for pair in enumerate(lengths)]
    assert all(len(hypotheses) == 1 for hypotheses in results)


@pytest.mark.parametrize("beams", [1, 4])
def test_batch_mates_and_order_do_not_change_results(beams: int) -> None:
    lengths = [Lengths(document % 4, 4 + document % 11) for document in range(30)]
    alone = [
        search(step, PrefixState.start([document], beams), [lengths[document]], Ranking(beams))[0]
        for document in range(30)
    ]
    for size in (7, 30):
        for first in range(0, 30, size):
            mates = list(reversed(range(first, min(first + size, 30))))
            together = search(step, PrefixState.start(mates, beams), [lengths[mate] for mate in mates], Ranking(beams))
            assert together == [alone[mate] for mate in mates]


@pytest.mark.usefixtures("checked_each_step")
@pytest.mark.parametrize("beams", [1, 3])
def test_finished_documents_in_the_batch_do_not_change_results(beams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [Lengths(document % 4, 4 + document % 11) for document in range(30)]
    sizes: list[list[int]] = [[], [], []]

    def run(compact_below: float, sizes: list[int]) -> list[list[Hypothesis]]:
        def counted(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
            sizes.append(len(last) // beams)
            return step(last, state)

        monkeypatch.setitem(decoding_beam.COMPACT_BELOW, "cpu", compact_below)
        return search(counted, PrefixState.start(range(30), beams), lengths, Ranking(beams))

    at_once, by_halves, never = (run(below, batches) for below, batches in zip((1.0, 0.5, 0.0), sizes, strict=True))
    assert at_once == by_halves == never
    assert set(sizes[2]) == {30}
    assert 1 < len(set(sizes[1])) < len(set(sizes[0]))
    assert all(2 * after <= before for before, after in itertools.pairwise(sizes[1]) if after < before)


@pytest.mark.usefixtures("checked_each_step")
def test_the_search_stops_when_no_better_hypothesis_can_follow() -> None:
    steps = 0

    def counted(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        nonlocal steps
        steps += 1
        log_probs = torch.full((len(last), VOCAB), -20.0)
        log_probs[:, EOS] = -0.001
        return log_probs, state

    # An unfinished hypothesis of -20 can attain -20 / 10, which -0.001 / 1 exceeds and -20.001 / 2 does not.
    search(counted, PrefixState.start([0], 1), [Lengths(0, 9)], Ranking(1))
    assert steps == 1
    steps = 0
    search(counted, PrefixState.start([0], 2), [Lengths(0, 9)], Ranking(2, 0))
    assert steps == 2
    steps = 0
    search(counted, PrefixState.start([0], 2), [Lengths(0, 9)], Ranking(2, 1))
    assert steps > 2


def test_the_search_continues_for_a_better_long_hypothesis() -> None:
    def late(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        log_probs = table({BOS: {EOS: -0.4, 5: -0.2, 4: -3.0}, 5: {EOS: -0.6}, 4: {4: 0.0}}, last)
        state = PrefixState(tuple((*row, token) for row, token in zip(state.rows, last.tolist(), strict=True)), 2)
        if len(state.rows[0]) == 2 + 9:
            log_probs[:, EOS] = 0.0
        return log_probs, state

    hypotheses = search(late, PrefixState.start([0], 2), [Lengths(0, 9)], Ranking(2))[0]
    assert hypotheses[0].tokens == (4,) * 9  # -3 / 10 beats -0.4 / 1 and -0.8 / 2, which ended first
    assert hypotheses[0].score == pytest.approx(-0.3)
    hypotheses = search(late, PrefixState.start([0], 2), [Lengths(0, 9, 6)], Ranking(2))[0]
    assert hypotheses[0].tokens == ()  # -3 / 7 does not


def test_eos_ranked_below_the_beam_does_not_count() -> None:
    def early(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        return table({BOS: {4: -1.0, 5: -1.1, EOS: -1.2}, 4: {EOS: -5.0}, 5: {EOS: -5.0}}, last), state

    hypotheses = search(early, PrefixState.start([0], 2), [Lengths(0, 1)], Ranking(2, 0))[0]
    assert [hypothesis.tokens for hypothesis in hypotheses] == [(4,), (5,)]


def flat(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
    return torch.full((len(last), VOCAB), -math.log(VOCAB)), state


def test_ties_are_broken_by_index() -> None:
    hypotheses = search(flat, PrefixState.start([0], 3), [Lengths(3, 3)], Ranking(3))[0]
    assert [hypothesis.tokens for hypothesis in hypotheses] == [(4, 4, 4), (4, 4, 5), (4, 4, 6)]
    assert search(flat, PrefixState.start([0], 1), [Lengths(2, 9)], Ranking(1))[0][0].tokens == (4, 4)


@dataclass(frozen=True)
class ForbidAll:
    """Forbids every token, EOS included, after `left` tokens."""

    left: int

    def after(self, token: int) -> "ForbidAll":
        assert token in WORDS
        return ForbidAll(self.left - 1)

    def forbidden(self) -> Collection[int]:
        return () if self.left else range(VOCAB)


@pytest.mark.parametrize("beams", [1, 3])
def test_the_summary_ends_where_every_token_is_forbidden(beams: int) -> None:
    results = search(
        step, PrefixState.start([1, 2], beams), [Lengths(5, 9)] * 2, Ranking(beams), Rules(constraints=[ForbidAll(2)])
    )
    for document, hypotheses in zip([1, 2], results, strict=True):
        assert [len(hypothesis.tokens) for hypothesis in hypotheses] == [2]
        assert hypotheses[0].log_prob == pytest.approx(log_probability(document, hypotheses[0].tokens), abs=1e-5)


def test_an_empty_batch_has_no_summaries() -> None:
    assert search(step, PrefixState.start([], 4), [], Ranking(4)) == []


@pytest.mark.parametrize("lengths", [Lengths(5, 4), Lengths(-1, 4)])
def test_lengths_out_of_range_are_refused(lengths: Lengths) -> None:
    message = f"must keep 0 <= minimum <= maximum, got {lengths.minimum} and {lengths.maximum}"
    with pytest.raises(ValueError, match=message):
        search(step, PrefixState.start([1], 2), [lengths], Ranking(2))


@pytest.mark.parametrize("beams", [1, 4])
def test_nan_is_refused(beams: int) -> None:
    def broken(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        return torch.full((len(last), VOCAB), math.nan), state

    with pytest.raises(ValueError, match="step must return log-probabilities, got NaN after 0 tokens"):
        search(broken, PrefixState.start([1], beams), [Lengths(0, 4)], Ranking(beams))


@pytest.mark.parametrize("beams", [1, 3])
def test_the_best_hypothesis_is_reported_after_each_step(beams: int) -> None:
    drafts: list[list[tuple[int, ...]]] = []
    lengths = [Lengths(4, 9)] * 20
    results = search(step, PrefixState.start(range(20), beams), lengths, Ranking(beams), on_step=drafts.append)
    assert results == search(step, PrefixState.start(range(20), beams), lengths, Ranking(beams))
    assert drafts[-1] == [hypotheses[0].tokens for hypotheses in results]
    assert [{len(tokens) for tokens in draft} for draft in drafts[:4]] == [{1}, {2}, {3}, {4}]
