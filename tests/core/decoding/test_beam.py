"""Beam search, against brute force, greedy search, and other batches."""

import itertools
import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import beam as decoding_beam
from sumpool.core.decoding.beam import NAN, ROWS_MULTIPLE, draw_tokens, sample, search
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.special_tokens import BOS, EOS
from tests.core.decoding.random_steps import VOCAB, WORDS, PrefixState, log_probability, next_log_probs, step, table


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
    def steps(ranking: Ranking) -> int:
        rows = []

        def counted(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
            rows.append(len(last))
            log_probs = torch.full((len(last), VOCAB), -20.0)
            log_probs[:, EOS] = -0.001
            return log_probs, state

        search(counted, PrefixState.start([0], ranking.beams), [Lengths(0, 9)], ranking)
        return len(rows)

    assert steps(Ranking(1)) == 1
    # An unfinished hypothesis of -20 can attain -20 / 10, which -0.001 / 1 exceeds and -20.001 / 2 does not.
    assert steps(Ranking(2, 0)) == 2
    assert steps(Ranking(2, 1)) > 2


def test_the_search_continues_for_a_better_long_hypothesis() -> None:
    def late(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        return table({BOS: {EOS: -0.4, 5: -0.2, 4: -3.0}, 5: {EOS: -0.6}, 4: {4: 0.0, EOS: -0.01}}, last), state

    def found(lengths: Lengths, ranking: Ranking) -> list[Hypothesis]:
        return search(late, PrefixState.start([0], 2), [lengths], ranking)[0]

    best = found(Lengths(0, 9), Ranking(2))[0]
    assert best.tokens == (4,) * 9  # -3.01 / 10 beats -0.4 / 1 and -0.8 / 2, which ended first
    assert best.score == pytest.approx(-0.301)
    assert found(Lengths(0, 9, 6), Ranking(2))[0].tokens == ()  # -3 / 7 does not
    hasty = found(Lengths(0, 9), Ranking(2, early_stopping=True))
    assert [hypothesis.tokens for hypothesis in hasty] == [(), (5,)]


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
    rules = Rules(constraints=[ForbidAll(2)])
    results = search(step, PrefixState.start([1, 2], beams), [Lengths(5, 9)] * 2, Ranking(beams), rules)
    for document, hypotheses in zip([1, 2], results, strict=True):
        assert [len(hypothesis.tokens) for hypothesis in hypotheses] == [2]
        assert hypotheses[0].log_prob == pytest.approx(log_probability(document, hypotheses[0].tokens), abs=1e-5)


@pytest.mark.parametrize("lengths", [Lengths(5, 4), Lengths(-1, 4)])
def test_lengths_out_of_range_are_refused(lengths: Lengths) -> None:
    message = f"must keep 0 <= minimum <= maximum, got {lengths.minimum} and {lengths.maximum}"
    with pytest.raises(ValueError, match=message):
        search(step, PrefixState.start([1], 2), [lengths], Ranking(2))


def test_nan_is_refused() -> None:
    def broken(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        return torch.full((len(last), VOCAB), math.nan), state

    for beams in (1, 4):
        with pytest.raises(ValueError, match="step must return log-probabilities, got NaN after 0 tokens"):
            search(broken, PrefixState.start([1], beams), [Lengths(0, 4)], Ranking(beams))
    with pytest.raises(ValueError, match="must return log-probabilities, got NaN"):
        sample(broken, PrefixState.start([1], 2), [Lengths(0, 2)], draws(0, 2), 1.0)


@pytest.mark.parametrize("beams", [1, 3])
def test_summaries_are_cut_without_a_forced_end(beams: int) -> None:
    def endless(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        log_probs, state = step(last, state)
        log_probs[:, EOS] = -40.0
        return log_probs, state

    cut = search(endless, PrefixState.start([1, 2], beams), [Lengths(0, 4)] * 2, Ranking(beams, force_end=False))
    for hypotheses in cut:
        assert [len(hypothesis.tokens) for hypothesis in hypotheses] == [4] * beams
        assert all(hypothesis.score == hypothesis.log_prob / 4 > -5.0 for hypothesis in hypotheses)
    forced = search(endless, PrefixState.start([1, 2], beams), [Lengths(0, 4)] * 2, Ranking(beams))
    for actual, expected in zip(forced, cut, strict=True):
        assert actual[0].tokens == expected[0].tokens
        assert actual[0].score == pytest.approx((expected[0].log_prob - 40) / 5)


@pytest.mark.parametrize("beams", [1, 3])
def test_prefixes_are_input_and_counted_but_not_scored(beams: int) -> None:
    ranking, lengths = Ranking(beams), [Lengths(3, 6)] * 2
    results = search(step, PrefixState.start([1, 2], beams), lengths, ranking, Rules([7, 4]))
    for document, hypotheses in zip([1, 2], results, strict=True):
        best = hypotheses[0]
        assert best.tokens[:2] == (7, 4)
        assert 3 <= len(best.tokens) <= 6
        tokens = (document, BOS, *best.tokens)
        forced = sum(float(next_log_probs(tokens[: index + 2])[token]) for index, token in enumerate([7, 4]))
        assert best.log_prob == pytest.approx(log_probability(document, best.tokens) - forced, abs=1e-5)
        assert best.score == pytest.approx(best.log_prob / (len(best.tokens) + 1))
    rule = NoRepeatTokens(1)
    for hypotheses in search(step, PrefixState.start([1, 2], beams), lengths, ranking, Rules([7], [rule])):
        assert all(len(set(hypothesis.tokens)) == len(hypothesis.tokens) for hypothesis in hypotheses)
    assert search(step, PrefixState.start([], 4), [], Ranking(4), Rules([7])) == []
    beyond = search(step, PrefixState.start([1], beams), [Lengths(0, 1)], ranking, Rules([7, 4]))
    assert [hypothesis.tokens for hypothesis in beyond[0]] == [(7, 4)]


def draws(seed: int, samples: int, steps: int = 8) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((1, samples, steps), np.float32))


def test_frequencies_equal_probabilities() -> None:
    temperature, count = 0.7, 3000
    (drawn,) = sample(step, PrefixState.start([1], count), [Lengths(0, 2)], draws(0, count), temperature)
    counts = Counter(drawn)

    def next_probability(tokens: tuple[int, ...], token: int) -> float:
        allowed = [*WORDS, EOS]
        probabilities = (next_log_probs((1, BOS, *tokens))[allowed] / temperature).softmax(-1)
        return float(probabilities[allowed.index(token)])

    expected: dict[tuple[int, ...], float] = {(): next_probability((), EOS)}
    for first in WORDS:
        expected[first,] = next_probability((), first) * next_probability((first,), EOS)
        for second in WORDS:  # of maximum length: EOS is forced
            expected[first, second] = next_probability((), first) * next_probability((first,), second)
    assert sum(expected.values()) == pytest.approx(1)
    for tokens, probability in expected.items():
        assert counts[tokens] / count == pytest.approx(probability, abs=5 * (probability / count) ** 0.5)


def test_a_low_temperature_is_greedy() -> None:
    (drawn,) = sample(step, PrefixState.start([2], 4), [Lengths(1, 4)], draws(1, 4), 1e-4)
    assert len(set(drawn)) == 1
    (warm,) = sample(step, PrefixState.start([2], 50), [Lengths(1, 4)], draws(1, 50), 2.0)
    assert len(set(warm)) > 5


def test_batch_mates_unfinished_or_not_do_not_change_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, bounds = [1, 2, 3], [Lengths(0, 1), Lengths(3, 5), Lengths(0, 4)]
    every = torch.cat([draws(document, 6) for document in documents])
    alone: list[list[tuple[int, ...]]] = []
    for document, limits, document_draws in zip(documents, bounds, every, strict=True):
        alone += sample(step, PrefixState.start([document], 6), [limits], document_draws[None], 0.8)
        assert all(limits.minimum <= len(tokens) <= limits.maximum for tokens in alone[-1])
    for compact_below in (1.0, 0.5, 0.0):
        monkeypatch.setitem(decoding_beam.COMPACT_BELOW, "cpu", compact_below)
        assert sample(step, PrefixState.start(documents, 6), bounds, every, 0.8) == alone


@pytest.mark.usefixtures("checked_each_step")
def test_ended_samples_take_no_steps(search_form: str) -> None:
    rows = []

    def counted(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        rows.append(len(last))
        return step(last, state)

    (drawn,) = sample(counted, PrefixState.start([2], 9), [Lengths(0, 12)], draws(1, 9, 13), 1.0)
    lengths = [len(tokens) for tokens in drawn]
    unfinished = [sum(length >= step_index for length in lengths) for step_index in range(max(lengths) + 1)]
    kept = [min(9, -(-count // ROWS_MULTIPLE) * ROWS_MULTIPLE) for count in unfinished]
    assert rows == (kept if search_form == "host" else [9] * len(unfinished)), "a device keeps the rows"
    assert len(set(kept)) > 2


def test_constraints_and_prefixes_apply() -> None:
    rules = Rules((WORDS[0],), [NoRepeatTokens(2)])
    (drawn,) = sample(step, PrefixState.start([3], 40), [Lengths(3, 6)], draws(3, 40), 3.0, rules)
    for tokens in drawn:
        pairs = list(pairwise(tokens))
        assert tokens[0] == WORDS[0]
        assert len(pairs) == len(set(pairs))
        assert EOS not in tokens


def test_samples_end_where_every_token_is_forbidden() -> None:
    rules = Rules(constraints=[NoRepeatTokens(1)])
    (drawn,) = sample(step, PrefixState.start([1], 3), [Lengths(40, 60)], draws(0, 3, 61), 1.0, rules)
    assert all(sorted(tokens) == sorted(set(tokens)) for tokens in drawn)


@pytest.mark.parametrize("inference", [True, False])  # where there are compiled kernels, and of torch
@pytest.mark.parametrize(("temperature", "vocabulary"), [(0.5, 5000), (1.0, 5120), (1.0, 50)])
def test_draws_equal_those_in_double_precision(temperature: float, vocabulary: int, inference: bool) -> None:
    log_probs, numbers = (3 * torch.randn(2000, vocabulary)).log_softmax(-1), torch.rand(2000)
    forbidden = torch.rand(2000, vocabulary) < 0.5
    log_probs[forbidden] = -torch.inf
    numbers[:500], numbers[500:1000] = 0, float(np.nextafter(np.float32(1), np.float32(0)))
    sums = (log_probs.double() / temperature).softmax(-1).cumsum(-1)
    expected = torch.searchsorted(sums, numbers[:, None].double() * sums[:, -1:], right=True).squeeze(-1)
    log_probs[1000], log_probs[1001, 7] = -torch.inf, torch.nan
    expected[1000], expected[1001] = EOS, NAN
    with torch.inference_mode(inference):
        drawn = draw_tokens(log_probs.clone(), numbers, temperature, EOS)
        assert torch.equal(drawn[7:9], draw_tokens(log_probs[7:9].clone(), numbers[7:9], temperature, EOS))
    assert (drawn != expected).sum() <= 2, "but on the border of two tokens"
    assert not forbidden[:1000].gather(1, drawn[:1000, None]).any()
