import math
from typing import Any

import pytest
import torch
from torch import Tensor

from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import TextStack

SIZES: dict[str, Any] = {"dim": 8, "heads": 2, "feed_forward": 12, "layers": [2]}


def build(positions: str, **settings: float) -> tuple[TextStack, tuple[Tensor, Tensor] | None]:
    torch.manual_seed(0)
    config = LanguageModelConfig.model_validate({**SIZES, **settings, "positions": positions})
    biases = (torch.randn(2, 4).double(), torch.randn(2, 4).double()) if positions == "relative" else None
    return TextStack(config, 2).double().eval(), biases


@pytest.mark.parametrize("positions", ["relative", "sinusoidal"])
@torch.no_grad()
def test_rows_advance_independently(positions: str) -> None:
    """Rows have different lengths, as segments do; a step reads some rows only."""
    stack, biases = build(positions)
    states = torch.randn(3, 90, 8).double()
    whole = stack(states, biases, False)
    cache = stack.start(3)
    places = [0, 0, 0]
    for step in range(120):
        rows = [row for row in range(3) if (step + row) % (row + 1) == 0 and places[row] < 90]
        if rows:
            output = stack.step(torch.stack([states[row, places[row]] for row in rows]), rows, cache, biases)
            expected = torch.stack([whole[row, places[row]] for row in rows])
            torch.testing.assert_close(output, expected, atol=1e-12, rtol=0)
            for row in rows:
                places[row] += 1
    assert places[0] == 90
    assert len(set(places)) == 3


@torch.no_grad()
def test_distances_have_the_frequencies_of_transformer_xl() -> None:
    stack, biases = build("relative")
    seen: list[Tensor] = []
    projection = stack.get_submodule("layers.0.attention.distance")
    projection.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    stack(torch.randn(1, 5, 8).double(), biases, False)
    stack.step(torch.randn(1, 8).double(), [0], stack.start(1), biases)
    for sinusoids in (part.squeeze(0)[:5] for part in seen):
        angles = [[distance / 10_000 ** (2 * pair / 8) for pair in range(4)] for distance in range(5)]
        expected = [[*map(math.sin, row), *map(math.cos, row)] for row in angles]
        torch.testing.assert_close(sinusoids, torch.tensor(expected).double(), atol=1e-6, rtol=0)
    assert len(seen) == 2


def test_sinusoids_of_distances_are_dropped_in_training_only() -> None:
    """The only dropout here, so that nothing else makes the outputs differ."""
    stack, biases = build("relative", dropout=0, attention_dropout=0)
    states = torch.randn(1, 20, 8).double()
    expected = stack(states, biases, False)
    assert torch.equal(stack.train()(states, biases, False), expected)
    stack.dropout.p = 0.5
    outputs = [stack(states, biases, False) for _ in range(2)]
    assert not torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0][:, 0], expected[:, 0])  # which attends to itself only
    assert torch.equal(stack.eval()(states, biases, False), expected)
