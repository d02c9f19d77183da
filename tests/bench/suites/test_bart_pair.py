import pytest
import torch

from sumpool.bench.config import TransformersConfig
from sumpool.bench.suites import bart_pair
from sumpool.bench.suites.bart_pair import random_pair
from sumpool.errors import RecipeError

SMALL = TransformersConfig(layers=1, dim=16, heads=2, feed_forward=16, vocabulary=60, length=12, generate=9)


def test_ours_has_the_weights_and_settings_of_theirs() -> None:
    pair = random_pair(SMALL, 1)
    assert torch.equal(pair.ours.embedding.weight, pair.theirs.model.shared.weight)
    writing = pair.writing
    assert (writing.beams, writing.length_penalty, writing.early_stopping, writing.no_repeat_tokens) == (
        4,
        2.0,
        True,
        3,
    )
    assert (writing.min_length, writing.max_length, list(writing.begin_with)) == (10, 10, [0])


def test_without_transformers_there_is_no_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bart_pair, "find_spec", lambda _: None)
    with pytest.raises(RecipeError, match="bench transformers must have transformers, which is not installed: pip"):
        random_pair(SMALL, 1)
