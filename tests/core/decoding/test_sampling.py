"""Sampling: frequencies, length bounds, constraints and independence of batch mates."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import beam as decoding_beam
from sumpool.core.decoding.beam import ROWS_MULTIPLE, draw_tokens, sample
from sumpool.core.decoding.config import Lengths
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.special_tokens import BOS, EOS
from tests.core.decoding.random_steps import WORDS, PrefixState, next_log_probs, step


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


def test_batch_mates_do_not_change_samples() -> None:
    documents, bounds = [1, 2, 3], [Lengths(0, 2), Lengths(3, 5), Lengths(1, 4)]
    every = torch.cat([draws(document, 6) for document in documents])
    together = sample(step, PrefixState.start(documents, 6), bounds, every, 0.8)
    for document, limits, document_draws, samples in zip(documents, bounds, every, together, strict=True):
        alone = sample(step, PrefixState.start([document], 6), [limits], document_draws[None], 0.8)
        assert [samples] == alone
        assert all(limits.minimum <= len(tokens) <= limits.maximum for tokens in samples)


def test_finished_documents_in_the_batch_do_not_change_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = [Lengths(0, 1), Lengths(3, 5), Lengths(0, 2)]
    every = torch.cat([draws(document, 3) for document in (1, 2, 3)])
    left = sample(step, PrefixState.start([1, 2, 3], 3), bounds, every, 1.0)
    for compact_below in (1.0, 0.5, 0.0):
        monkeypatch.setitem(decoding_beam.COMPACT_BELOW, "cpu", compact_below)
        assert sample(step, PrefixState.start([1, 2, 3], 3), bounds, every, 1.0) == left


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
    (drawn,) = sample(
        step,
        PrefixState.start([3], 40),
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


def test_samples_end_where_every_token_is_forbidden() -> None:
    (drawn,) = sample(
        step, PrefixState.start([1], 3), [Lengths(40, 60)], draws(0, 3, 61), 1.0, Rules(constraints=[NoRepeatTokens(1)])
    )
    assert all(sorted(tokens) == sorted(set(tokens)) for tokens in drawn)


def test_tokens_without_probability_are_never_drawn() -> None:
    highest = torch.full((1, 9, 8), float(np.nextafter(np.float32(1), np.float32(0))))
    for numbers in (torch.zeros(1, 9, 8), highest):
        (drawn,) = sample(step, PrefixState.start([1], 9), [Lengths(2, 3)], numbers, 1.0)
        assert all(2 <= len(tokens) <= 3 and set(tokens) <= set(WORDS) for tokens in drawn)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_draws_equal_those_in_double_precision(temperature: float) -> None:
    log_probs, numbers = (3 * torch.randn(2000, 5000)).log_softmax(-1), torch.rand(2000)
    sums = (log_probs.double() / temperature).softmax(-1).cumsum(-1)
    expected = torch.searchsorted(sums, numbers[:, None].double() * sums[:, -1:], right=True).squeeze(-1)
    drawn = draw_tokens(log_probs, numbers, temperature, EOS)
    assert (drawn != expected).sum() <= 1, "but on the border of two tokens"
    assert torch.equal(drawn[7:9], draw_tokens(log_probs[7:9], numbers[7:9], temperature, EOS))


def test_nan_is_an_error() -> None:
    def broken(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
        return step(last, state)[0] * torch.nan, state

    with pytest.raises(ValueError, match="must return log-probabilities, got NaN"):
        sample(broken, PrefixState.start([1], 2), [Lengths(0, 2)], draws(0, 2), 1.0)
