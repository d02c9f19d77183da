"""Beam search against brute force, greedy search, and itself in other company."""

import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import step as decoding_step
from sumpool.core.decoding.beam import Hypothesis, search
from sumpool.core.decoding.constraints import NoRepeatWords, Rules, WordPieces
from sumpool.core.decoding.ranking import LengthFormula, Lengths, Ranking
from sumpool.special_tokens import BOS, EOS
from tests.core.decoding.random_steps import PIECES, VOCAB, WORDS, BeamCache, next_log_probs, probability, step, table


def brute_force(
    document: int, lengths: Lengths, length_penalty: float, formula: LengthFormula
) -> list[tuple[float, tuple[int, ...]]]:
    def divisor(length: int) -> float:
        return float(((5 + length) / 6 if formula == "gnmt" else length) ** length_penalty)

    every = [
        (probability(document, pieces) / divisor(len(pieces) + 1), pieces)
        for length in range(lengths.minimum, lengths.maximum + 1)
        for pieces in itertools.product(WORDS, repeat=length)
    ]
    return sorted(every, key=lambda scored: -scored[0])


@pytest.mark.parametrize("length_penalty", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("lengths", [Lengths(0, 4), Lengths(2, 4), Lengths(3, 3), Lengths(0, 0)])
@pytest.mark.parametrize("formula", ["sumpool", "gnmt"])
def test_equals_brute_force_where_every_prefix_fits_the_beam(
    lengths: Lengths, length_penalty: float, formula: LengthFormula
) -> None:
    beams = 5 * len(WORDS) ** 3
    found = search(step, BeamCache.start([1, 2], beams), [lengths] * 2, Ranking(beams, length_penalty, formula))
    for document, hypotheses in zip([1, 2], found, strict=True):
        expected = brute_force(document, lengths, length_penalty, formula)[:beams]
        assert [hypothesis.tokens for hypothesis in hypotheses[:20]] == [pieces for _, pieces in expected[:20]]
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == pytest.approx([score for score, _ in expected], abs=1e-5)
        assert hypotheses[0].log_prob == pytest.approx(probability(document, hypotheses[0].tokens), abs=1e-5)


def greedy(document: int, lengths: Lengths) -> tuple[int, ...]:
    pieces: list[int] = []
    while len(pieces) < lengths.maximum:
        log_probs = next_log_probs((document, BOS, *pieces))
        log_probs[:EOS] = -math.inf
        if len(pieces) < lengths.minimum:
            log_probs[EOS] = -math.inf
        piece = int(log_probs.argmax())
        if piece == EOS:
            break
        pieces.append(piece)
    return tuple(pieces)


def test_one_beam_is_greedy() -> None:
    lengths = [Lengths(number % 5, 5 + number % 20) for number in range(40)]
    found = search(step, BeamCache.start(range(40), 1), lengths, Ranking(1))
    assert [hypotheses[0].tokens for hypotheses in found] == [greedy(*pair) for pair in enumerate(lengths)]
    assert all(len(hypotheses) == 1 for hypotheses in found)


@pytest.mark.parametrize("beams", [1, 2, 4])
def test_company_and_order_change_nothing(beams: int) -> None:
    lengths = [Lengths(document % 4, 4 + document % 11) for document in range(30)]
    alone = [
        search(step, BeamCache.start([document], beams), [lengths[document]], Ranking(beams))[0]
        for document in range(30)
    ]
    for size in (7, 30):
        for first in range(0, 30, size):
            mates = list(reversed(range(first, min(first + size, 30))))
            together = search(step, BeamCache.start(mates, beams), [lengths[mate] for mate in mates], Ranking(beams))
            assert together == [alone[mate] for mate in mates]


@pytest.mark.parametrize("beams", [1, 3])
def test_documents_that_stay_when_they_are_done_change_nothing(beams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [Lengths(document % 4, 4 + document % 11) for document in range(30)]
    sizes: list[list[int]] = [[], [], []]

    def run(leave_at: float, seen: list[int]) -> list[list[Hypothesis]]:
        def counted(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
            seen.append(len(last) // beams)
            return step(last, state)

        monkeypatch.setitem(decoding_step._LEAVE_AT, "cpu", leave_at)
        return search(counted, BeamCache.start(range(30), beams), lengths, Ranking(beams))

    at_once, by_halves, never = (run(share, seen) for share, seen in zip((1.0, 0.5, 0.0), sizes, strict=True))
    assert at_once == by_halves == never
    assert set(sizes[2]) == {30}
    assert 1 < len(set(sizes[1])) < len(set(sizes[0]))
    assert all(2 * after <= before for before, after in itertools.pairwise(sizes[1]) if after < before)


def test_more_beams_find_no_worse_summaries_here() -> None:
    totals = [
        sum(
            found[0].score
            for found in search(step, BeamCache.start(range(20), beams), [Lengths(3, 9)] * 20, Ranking(beams))
        )
        for beams in (1, 4, 64)
    ]
    assert totals == sorted(totals)


def test_the_search_ends_as_soon_as_nothing_better_can_come() -> None:
    steps = 0

    def counted(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
        nonlocal steps
        steps += 1
        log_probs = torch.full((len(last), VOCAB), -20.0)
        log_probs[:, EOS] = -0.001
        return log_probs, state

    # sum / length: a live hypothesis of -20 could come down to -20 / 10, which -0.001 / 1 and -20.001 / 2 beat or not
    search(counted, BeamCache.start([0], 1), [Lengths(0, 9)], Ranking(1))
    assert steps == 1
    steps = 0
    search(counted, BeamCache.start([0], 2), [Lengths(0, 9)], Ranking(2, 0))
    assert steps == 2
    steps = 0
    search(counted, BeamCache.start([0], 2), [Lengths(0, 9)], Ranking(2, 1))
    assert steps > 2


def test_a_late_winner_is_waited_for() -> None:
    def late(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
        log_probs = table({BOS: {EOS: -0.4, 5: -0.2, 4: -3.0}, 5: {EOS: -0.6}, 4: {4: 0.0}}, last)
        state = BeamCache(tuple((*row, piece) for row, piece in zip(state.rows, last.tolist(), strict=True)), 2)
        if len(state.rows[0]) == 2 + 9:
            log_probs[:, EOS] = 0.0
        return log_probs, state

    found = search(late, BeamCache.start([0], 2), [Lengths(0, 9)], Ranking(2))[0]
    assert found[0].tokens == (4,) * 9  # -3 / 10 beats -0.4 / 1 and -0.8 / 2, which ended first
    assert found[0].score == pytest.approx(-0.3)
    found = search(late, BeamCache.start([0], 2), [Lengths(0, 9, 6)], Ranking(2))[0]
    assert found[0].tokens == ()  # -3 / 7 does not


def test_an_end_outside_the_beam_does_not_count() -> None:
    def early(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
        return table({BOS: {4: -1.0, 5: -1.1, EOS: -1.2}, 4: {EOS: -5.0}, 5: {EOS: -5.0}}, last), state

    found = search(early, BeamCache.start([0], 2), [Lengths(0, 1)], Ranking(2, 0))[0]
    assert [hypothesis.tokens for hypothesis in found] == [(4,), (5,)]


def flat(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
    return torch.full((len(last), VOCAB), -math.log(VOCAB)), state


def test_equals_are_broken_by_index() -> None:
    found = search(flat, BeamCache.start([0], 3), [Lengths(3, 3)], Ranking(3))[0]
    assert [hypothesis.tokens for hypothesis in found] == [(4, 4, 4), (4, 4, 5), (4, 4, 6)]
    assert search(flat, BeamCache.start([0], 1), [Lengths(2, 9)], Ranking(1))[0][0].tokens == (4, 4)


@dataclass(frozen=True)
class Mute:
    """Forbids every piece once `left` are written, the end as well."""

    left: int

    def after(self, piece: int) -> "Mute":
        assert piece in WORDS
        return Mute(self.left - 1)

    def forbidden(self) -> Collection[int]:
        return () if self.left else range(VOCAB)


@pytest.mark.parametrize("beams", [1, 3])
def test_where_every_piece_is_forbidden_the_summary_ends(beams: int) -> None:
    found = search(
        step, BeamCache.start([1, 2], beams), [Lengths(5, 9)] * 2, Ranking(beams), Rules(constraints=[Mute(2)])
    )
    for document, hypotheses in zip([1, 2], found, strict=True):
        assert [len(hypothesis.tokens) for hypothesis in hypotheses] == [2]
        assert hypotheses[0].log_prob == pytest.approx(probability(document, hypotheses[0].tokens), abs=1e-5)


def test_constraints_hold_along_every_beam() -> None:
    words = NoRepeatWords(1, WordPieces(PIECES))
    found = search(step, BeamCache.start(range(20), 4), [Lengths(0, 8)] * 20, Ranking(4), Rules(constraints=[words]))
    for hypothesis in itertools.chain.from_iterable(found):
        text = b"".join(PIECES[piece] for piece in hypothesis.tokens).split()
        assert len(set(text)) == len(text)


def test_no_documents_have_no_summaries() -> None:
    assert search(step, BeamCache.start([], 4), [], Ranking(4)) == []


@pytest.mark.parametrize(
    ("lengths", "beams", "length_penalty", "message"),
    [
        (Lengths(0, 4), 0, 1.0, "beams must be at least 1, got 0"),
        (Lengths(0, 4), 2, -1.0, "length_penalty must be at least 0, got -1.0"),
        (Lengths(5, 4), 2, 1.0, "lengths must keep 0 <= minimum <= maximum, got 5 and 4"),
        (Lengths(-1, 4), 2, 1.0, "lengths must keep 0 <= minimum <= maximum, got -1 and 4"),
    ],
)
def test_arguments_out_of_range_are_refused(lengths: Lengths, beams: int, length_penalty: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search(step, BeamCache.start([1], beams), [lengths], Ranking(beams, length_penalty))


@pytest.mark.parametrize("beams", [1, 4])
def test_a_model_that_gives_no_numbers_is_refused(beams: int) -> None:
    def broken(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
        return torch.full((len(last), VOCAB), math.nan), state

    with pytest.raises(ValueError, match="step must give log-probabilities, got NaN after 0 pieces"):
        search(broken, BeamCache.start([1], beams), [Lengths(0, 4)], Ranking(beams))
