"""The search on tensors finds the hypotheses of the search on the host, bit by bit."""

import random
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from sumpool.core.decoding import beam as decoding_beam
from sumpool.core.decoding.beam import documents_to_keep, search
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import (
    Constraint,
    LengthLimits,
    NoRepeatTokens,
    NoRepeatWords,
    Rules,
    TokenSurfaces,
    can_apply_on_device,
)
from sumpool.special_tokens import EOS


def search_on_device(*arguments: Any) -> list[list[Hypothesis]]:  # noqa: ANN401 - those of `search`
    """Search with hypotheses as tensors, on the CPU."""
    with patch.object(decoding_beam, "HOST_DEVICES", []):
        return search(*arguments)


SURFACES = [b"", b"", b"", b"", b" a", b" b", b" ab", b"b", b"a", b" ", b"ba", b" b", b"\xc3", b"\xa9"]
VOCAB = len(SURFACES) + 1
"""Tokens; the last one has no surface and no probability, as the vocabulary of a model may be padded."""


@dataclass(frozen=True)
class HashedState:
    """State that has a number for the tokens of each row, from which the next distribution is drawn."""

    prefixes: Tensor
    beams: int

    def reorder(self, rows: Tensor) -> "HashedState":
        return replace(self, prefixes=self.prefixes[rows])

    def select(self, documents: Tensor) -> "HashedState":
        return replace(self, prefixes=self.prefixes.view(-1, self.beams)[documents].flatten())


@dataclass(frozen=True)
class RandomModel:
    """A distribution of the next token for every prefix.

    Attributes:
        seed: Seed of all distributions.
        levels: Number of different logits; few make ties.
        eos: Added to the logit of EOS.
    """

    seed: int
    levels: int
    eos: float

    def step(self, last: Tensor, state: HashedState) -> tuple[Tensor, HashedState]:
        prefixes = (state.prefixes * 1_000_003 + last + 1) % 2_147_483_647
        draws = prefixes[:, None] * torch.arange(1, VOCAB + 1) * 7_919 + self.seed
        logits = (draws % 1_009 * self.levels // 1_009).float() / self.levels * 4
        logits[:, EOS] += self.eos
        logits[:, -1] = -torch.inf
        return logits.log_softmax(-1), replace(state, prefixes=prefixes)


def random_case(number: int) -> tuple[RandomModel, list[Lengths], Ranking, Rules]:
    draw = random.Random(number)
    documents = draw.choice([1, 2, 5, 9])
    lengths = []
    for _ in range(documents):
        maximum = draw.choice([0, 1, 4, 12, 40])
        minimum = draw.randint(0, maximum)
        lengths.append(Lengths(minimum, maximum, draw.choice([None, draw.randint(minimum, maximum)])))
    constraints: list[Constraint] = []
    if draw.random() < 0.6:
        constraints.append(NoRepeatWords(draw.randint(1, 3), TokenSurfaces(SURFACES)))
    if draw.random() < 0.4:
        constraints.append(NoRepeatTokens(draw.randint(1, 3)))
    prefix = draw.choice([[], [], [7], [4, 9], [4, 7, 8, 5]])
    ranking = Ranking(
        beams=draw.choice([1, 2, 3, 5]),
        length_penalty=draw.choice([0.0, 0.6, 1.0, 2.0]),
        length_formula=draw.choice(["sumpool", "transformers"]),
        early_stopping=draw.random() < 0.3,
        force_end=draw.random() < 0.7,
    )
    model = RandomModel(draw.randint(0, 10**6), draw.choice([2, 5, 1_009]), draw.choice([-9.0, -2.0, 0.0, 1.0, 4.0]))
    return model, lengths, ranking, Rules(prefix, constraints)


def start(documents: int, beams: int) -> HashedState:
    return HashedState(torch.arange(1, documents + 1).repeat_interleave(beams), beams)


def test_hypotheses_are_those_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths_of_best = []
    for number in range(45):
        monkeypatch.setitem(decoding_beam.COMPACT_BELOW, "cpu", (0.5, 1.0, 0.0)[number % 3])
        model, lengths, ranking, rules = random_case(number)
        arguments: Any = (model.step, start(len(lengths), ranking.beams), lengths, ranking, rules)
        expected = search(*arguments)
        assert search_on_device(*arguments) == expected, number
        lengths_of_best += [len(hypotheses[0].tokens) for hypotheses in expected]
    assert len(set(lengths_of_best)) > 20


def test_documents_leave_the_batch_every_sixteen_tokens() -> None:
    sizes: list[int] = []
    model = RandomModel(1, 1_009, -9.0)

    def counted(last: Tensor, state: HashedState) -> tuple[Tensor, HashedState]:
        sizes.append(len(last) // 2)
        return model.step(last, state)

    lengths = [Lengths(length, length) for length in (3, 15, 16, 40)]
    for prefix in ([], [4, 5, 6]):
        sizes.clear()
        results = search_on_device(counted, start(4, 2), lengths, Ranking(2), Rules(prefix))
        assert [len(hypotheses[0].tokens) for hypotheses in results] == [max(3, len(prefix)), 15, 16, 40]
        fed = len(prefix)
        expected = [4] * (16 + fed) + ([2] if not fed else [1]) * 16 + [1] * (41 - 32 - fed)
        assert sizes == expected


def search_with_nan(row: int, places: range) -> list[list[Hypothesis]]:
    """Search summaries of 3 and 30 tokens, with a NaN in one row of the log-probabilities of some steps."""
    model, steps = RandomModel(1, 1_009, -9.0), count()

    def broken(last: Tensor, state: HashedState) -> tuple[Tensor, HashedState]:
        log_probs, state = model.step(last, state)
        if next(steps) in places:
            log_probs[row, 7] = -torch.nan
        return log_probs, state

    return search_on_device(broken, start(2, 2), [Lengths(3, 3), Lengths(30, 30)], Ranking(2))


@pytest.mark.parametrize(("row", "place"), [(2, 0), (2, 5), (0, 20)])
def test_nan_is_named_by_the_first_step_that_has_it(row: int, place: int) -> None:
    """Of the longer summary; the other one leaves the batch after sixteen tokens."""
    with pytest.raises(ValueError, match=f"got NaN after {place} tokens"):
        search_with_nan(row, places=range(place, 99))


def test_nan_of_a_finished_document_is_ignored() -> None:
    """It stays in the batch for up to sixteen tokens, whose distributions count for nothing."""
    assert search_with_nan(row=0, places=range(5, 15)) == search_with_nan(row=0, places=range(0))


def test_other_constraints_take_the_host() -> None:
    surfaces = TokenSurfaces(SURFACES)
    assert can_apply_on_device(Rules((), [NoRepeatWords(1, surfaces), NoRepeatTokens(2)]), [[], []])
    assert not can_apply_on_device(Rules(), [[LengthLimits(1, 5, surfaces, EOS)], []])
    assert not can_apply_on_device(Rules((), [LengthLimits(1, 5, surfaces, EOS)]), ())


@pytest.mark.parametrize(
    ("unfinished", "on_cpu", "on_gpu"),
    [
        ([True, False, True, False], [0, 2], [0, 2]),
        ([True, True, True, False, False], [0, 1, 2], [0, 1, 2, 3, 4]),
        ([False, False], [], []),
    ],
)
def test_a_gpu_drops_documents_when_half_have_finished(
    unfinished: list[bool], on_cpu: list[int], on_gpu: list[int]
) -> None:
    assert documents_to_keep(unfinished, "cpu") == on_cpu
    assert documents_to_keep(unfinished, "cuda") == on_gpu
