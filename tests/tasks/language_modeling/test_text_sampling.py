from collections import Counter

import pytest
import torch

from sumpool.tasks.language_modeling.config import TextSampling
from sumpool.tasks.language_modeling.generation import draw_token

LOGITS = torch.tensor([0.1, 0.4, 0.2, 0.3]).log()


def shares(**settings: float) -> dict[int, float]:
    draws = [(place + 0.5) / 2000 for place in range(2000)]
    counts = Counter(draw_token(LOGITS, TextSampling.model_validate(settings), draw) for draw in draws)
    return {token: round(count / 2000, 2) for token, count in counts.items()}


def test_tokens_are_drawn_by_their_probabilities() -> None:
    assert shares() == {1: 0.4, 3: 0.3, 2: 0.2, 0: 0.1}


def test_temperature_sharpens_and_flattens() -> None:
    assert shares(temperature=0.5)[1] == pytest.approx(0.16 / 0.3, abs=0.01)
    assert shares(temperature=100)[0] == pytest.approx(0.25, abs=0.01)


def test_top_k_keeps_the_most_probable() -> None:
    assert shares(top_k=1) == {1: 1.0}
    assert shares(top_k=2) == {1: pytest.approx(4 / 7, abs=0.01), 3: pytest.approx(3 / 7, abs=0.01)}
    assert shares(top_k=99) == shares()


def test_top_p_keeps_the_token_that_reaches_it() -> None:
    assert set(shares(top_p=0.39)) == {1}
    assert set(shares(top_p=0.41)) == {1, 3}
    assert set(shares(top_p=0.95)) == {0, 1, 2, 3}
    assert shares(top_p=0.41)[1] == pytest.approx(4 / 7, abs=0.01)


def test_both_restrictions_hold() -> None:
    assert set(shares(top_k=3, top_p=0.5)) == {1, 3}


@pytest.mark.parametrize("draw", [0.0, 1 - 2**-53])
def test_extreme_draws_are_of_allowed_tokens(draw: float) -> None:
    logits = torch.tensor([-torch.inf, 0.0, -torch.inf, 0.0])
    assert draw_token(logits, TextSampling(), draw) in (1, 3)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="model must return logits, got NaN"):
        draw_token(torch.tensor([torch.nan, 0.0]), TextSampling(), 0.5)
