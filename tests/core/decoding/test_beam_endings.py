"""Early stopping, forced ends and prefixes of beam search."""

import pytest
from torch import Tensor

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.special_tokens import BOS, EOS
from tests.core.decoding.random_steps import PrefixState, log_probability, next_log_probs, step, table


def test_early_stopping_misses_later_hypotheses() -> None:
    """The best hypothesis finishes after as many others as there are beams."""

    def late(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        return table({BOS: {EOS: -0.4, 5: -0.2, 4: -3.0}, 5: {EOS: -0.6}, 4: {4: 0.0, EOS: -0.01}}, last), state

    patient = search(late, PrefixState.start([0], 2), [Lengths(0, 9)], Ranking(2))[0]
    assert patient[0].tokens == (4,) * 9
    hasty = search(late, PrefixState.start([0], 2), [Lengths(0, 9)], Ranking(2, early_stopping=True))[0]
    assert [hypothesis.tokens for hypothesis in hasty] == [(), (5,)]


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
