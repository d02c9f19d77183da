"""What every scorer keeps, tested on every variant found in the folder."""

from collections.abc import Callable

import pytest
import torch

from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import config_class, kinds

KINDS = kinds("sumpool.core.scoring")


def build(kind: str) -> Scorer:
    config = config_class("sumpool.core.scoring", kind)()
    assert isinstance(config, ScorerConfig)
    return config.build(16).double()


def test_the_family_is_found() -> None:
    assert "linear" in KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 37, 64, 1000])
def test_scores_are_shares_and_belong_to_their_document(
    kind: str, length: int, make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    scorer = build(kind)
    tokens = make_tokens(length, 1 + length // 2, length=length + 9)
    scores = scorer(tokens)
    assert scores.shape == tokens.mask.shape
    assert ((scores > 0) & (scores < 1))[tokens.mask].all()
    for number in range(2):
        expected = scorer(alone(tokens, number))[0]
        torch.testing.assert_close(scores[number, : len(expected)], expected, atol=1e-12, rtol=0)
