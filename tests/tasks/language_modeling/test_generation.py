from collections import Counter
from typing import cast

import pytest
import torch
from torch import Tensor

from sumpool.tasks.language_modeling.config import TextSampling
from sumpool.tasks.language_modeling.generation import decode_stream, draw_token, generate_tokens
from sumpool.tasks.language_modeling.model import LanguageModel

CPU = torch.device("cpu")
SHORT = TextSampling(length=30)


class Sums:
    """Model whose logits depend on all tokens read, and which counts its steps."""

    def __init__(self) -> None:
        self.steps = 0

    def start(self) -> Tensor:
        return torch.zeros(1)

    def step(self, ids: Tensor, cache: Tensor) -> Tensor:
        self.steps += 1
        cache.mul_(0.5).add_(ids)
        return torch.cos(cache[:, None] * torch.arange(1, 7))


def generated(
    prompt: tuple[int, ...] = (1, 2), forbidden: tuple[int, ...] = (), sampling: TextSampling = SHORT
) -> list[int]:
    return list(generate_tokens(cast(LanguageModel, Sums()), prompt, sampling, forbidden, CPU))


def test_the_seed_decides() -> None:
    assert generated(sampling=TextSampling(length=30, seed=4)) == generated(sampling=TextSampling(length=30, seed=4))
    assert generated(sampling=TextSampling(length=30, seed=4)) != generated(sampling=TextSampling(length=30, seed=5))


def test_every_token_is_read_once_by_the_cache() -> None:
    model = Sums()
    assert len(list(generate_tokens(cast(LanguageModel, model), [1, 2, 3], TextSampling(length=10), (), CPU))) == 10
    assert model.steps == 3 + 9


def test_no_temperature_takes_the_most_probable_token() -> None:
    model = Sums()
    tokens = generated(sampling=TextSampling(length=30, temperature=0))
    cache = model.start()
    for token in (1, 2):
        logits = model.step(torch.tensor([token]), cache)
    for token in tokens:
        assert token == int(logits[0].argmax())
        logits = model.step(torch.tensor([token]), cache)


def test_forbidden_tokens_never_come() -> None:
    assert not {0, 3} & set(generated((1, 2), (0, 3), TextSampling(length=300)))
    assert {0, 3} <= set(generated(sampling=TextSampling(length=300)))


def test_a_signal_stops_the_generation() -> None:
    def check() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(generate_tokens(cast(LanguageModel, Sums()), [1], TextSampling(), (), CPU, check))


def test_characters_come_when_they_are_complete() -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    assert list(decode_stream(iter("aä€b".encode()), tokens)) == ["a", "ä", "€", "b"]
    assert list(decode_stream(iter(b"a\xff\xe2\x82"), tokens)) == ["a", "�", "�"]
    assert list(decode_stream(iter([0]), [b"the cat"])) == ["the cat"]


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


@pytest.mark.parametrize("draw", [0.0, 1 - 2**-53])
def test_extreme_draws_are_of_allowed_tokens(draw: float) -> None:
    logits = torch.tensor([-torch.inf, 0.0, -torch.inf, 0.0])
    assert draw_token(logits, TextSampling(), draw) in (1, 3)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="model must return logits, got NaN"):
        draw_token(torch.tensor([torch.nan, 0.0]), TextSampling(), 0.5)
