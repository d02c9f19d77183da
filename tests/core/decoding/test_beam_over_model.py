"""Beam search over a model: log-probabilities are those of the model, and batch mates do not change results."""

import math
from collections.abc import Sequence

import pytest
import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatWords, Rules, TokenSurfaces
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.special_tokens import EOS
from tests.core.model.test_summarizer import VOCAB, make_model


@pytest.fixture(scope="module", params=["full", "approximate"])
def model(request: pytest.FixtureRequest) -> SummarizationModel:
    """A random model with sharp distributions, so that there are no ties."""
    model = make_model(cross_attention=request.param).requires_grad_(False)
    model.embedding.weight *= 2
    return model


@pytest.fixture(scope="module")
def documents() -> list[torch.Tensor]:
    """7 documents of 10 to 60 tokens, and one ten times as long."""
    generator = torch.Generator().manual_seed(3)
    lengths = torch.randint(10, 61, (7,), generator=generator).tolist()
    return [torch.randint(5, VOCAB, (length,), generator=generator) for length in [*lengths, 600]]


def encode(model: SummarizationModel, documents: Sequence[torch.Tensor]) -> Memory:
    ids = torch.nn.utils.rnn.pad_sequence(list(documents), batch_first=True)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(ids), dtype=torch.bool) for ids in documents], True)
    return model.encode(ids, mask, torch.arange(ids.size(1)).expand(ids.shape) // 7)


def summaries(model: SummarizationModel, documents: Sequence[torch.Tensor], beams: int) -> list[list[Hypothesis]]:
    """Search summaries without repeated tokens, so that they vary and end."""

    def step(last: torch.Tensor, state: DecoderState) -> tuple[torch.Tensor, DecoderState]:
        log_probs, state = model.step(last, state)
        return with_ends(log_probs), state

    rule = NoRepeatWords(1, TokenSurfaces([f" {number}".encode() if number > EOS else b"" for number in range(VOCAB)]))
    state = model.start(encode(model, documents), beams)
    return search(step, state, [Lengths(3, 14)] * len(documents), Ranking(beams), Rules(constraints=[rule]))


def with_ends(log_probs: torch.Tensor) -> torch.Tensor:
    """Mix in a probability of 1 / 50 of EOS, which a random model would never generate."""
    mixed = log_probs + math.log(0.98)
    mixed[:, EOS] = torch.logaddexp(mixed[:, EOS], torch.tensor(math.log(0.02)))
    return mixed


def test_summaries_do_not_depend_on_their_batch(model: SummarizationModel, documents: list[torch.Tensor]) -> None:
    count, beams = 7, 4
    alone = [summaries(model, [document], beams)[0][0].tokens for document in documents[:count]]
    assert len(set(alone)) > 0.8 * count
    assert len({len(tokens) for tokens in alone}) > 2
    for size in (4, 7):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(size)).tolist()
        for first in range(0, count, size):
            mates = order[first : first + size]
            results = summaries(model, [documents[mate] for mate in [*mates, -1]], beams)
            assert [hypotheses[0].tokens for hypotheses in results[:-1]] == [alone[mate] for mate in mates]


@pytest.mark.parametrize("beams", [1, 4])
def test_log_probabilities_are_those_of_the_model(
    model: SummarizationModel, documents: list[torch.Tensor], beams: int
) -> None:
    """Score every hypothesis, found with a reordered and reduced cache, in one pass."""
    for document, hypotheses in zip(documents[:4], summaries(model, documents[:4], beams), strict=True):
        memory = encode(model, [document])
        for hypothesis in hypotheses:
            scores = model.score(memory, torch.tensor([[*hypothesis.tokens, EOS]])).log_prob[0]
            scores = scores + math.log(0.98)
            scores[-1] = torch.logaddexp(scores[-1], torch.tensor(math.log(0.02)))
            assert hypothesis.log_prob == pytest.approx(float(scores.sum()), abs=1e-4)
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / (len(hypothesis.tokens) + 1))
