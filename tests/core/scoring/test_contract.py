"""Contract of scorers, tested on every variant in the package."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
import torch

from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.nn.masking import zero_padding
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from tests.core.batches import alone, make_tokens

KINDS = kinds("sumpool.core.scoring")


def build(kind: str) -> Scorer:
    config = config_class("sumpool.core.scoring", kind)()
    assert isinstance(config, ScorerConfig)
    return config.build(16).double().eval()


@pytest.fixture
def attended() -> Callable[[Tokens], Tokens]:
    """Tokens as an encoder layer returns them: zero padding, attention received."""
    attention = VanillaAttention(16, 4).double()

    def attend(tokens: Tokens) -> Tokens:
        states = zero_padding(tokens.states, tokens.mask)
        received = partial(attention.attention_received, tokens.with_states(states))
        return replace(tokens, states=states, attention_received=received)

    return attend


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_in_the_unit_interval(kind: str, attended: Callable[[Tokens], Tokens]) -> None:
    for length, training in product((1, 37, 64, 1000), (True, False)):
        tokens = attended(make_tokens(length, 1 + length // 2, length=length + 9))
        scores = build(kind).train(training)(tokens)
        assert scores.shape == tokens.mask.shape
        assert ((scores >= 0) & (scores <= 1))[tokens.mask].all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(1, 37), (64, 64, 3), (700, 1000, 20)])
def test_scores_are_independent_of_padding_and_batch_mates(
    kind: str, lengths: tuple[int, ...], attended: Callable[[Tokens], Tokens]
) -> None:
    scorer = build(kind)
    together = make_tokens(*lengths)
    noisy = make_tokens(*lengths, length=max(lengths) + 50, pad=torch.nan)
    for number, length in enumerate(lengths):
        expected = scorer(attended(alone(together, number)))[0]
        for tokens in (together, noisy):
            scores = scorer(attended(tokens))[number, :length]
            torch.testing.assert_close(scores, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_finite_gradient(kind: str, attended: Callable[[Tokens], Tokens]) -> None:
    scorer = build(kind).train()
    tokens = attended(make_tokens(100, 13))
    states = tokens.states.requires_grad_()
    (scorer(tokens)[tokens.mask].square().sum() + states.sum()).backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    for name, parameter in scorer.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name
