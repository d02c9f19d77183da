from typing import Literal

import pytest
import torch
from torch import nn

from sumpool.core.pooling.funnel import FunnelPoolerConfig
from tests.core.batches import make_tokens


@pytest.mark.parametrize("combine", ["mean", "max"])
@pytest.mark.parametrize(("window", "stride"), [(4, 4), (3, 1), (5, 2), (1, 1), (1, 4), (2, 3), (40, 7)])
def test_equals_window_by_window(window: int, stride: int, combine: Literal["mean", "max"]) -> None:
    lengths = [37, 1, 2, 3, 4, 5, 6, 7, 8, 12]
    tokens = make_tokens(*lengths, pad=torch.nan)
    config = FunnelPoolerConfig(window=window, stride=stride, combine=combine)
    pooled = config.build(nn.Embedding(9, 16))(tokens).tokens
    for number, length in enumerate(lengths):
        rows = []
        for start in range(0, length, stride):
            inside = tokens.states[number, start : min(start + window, length)]
            rows.append(inside.mean(0) if combine == "mean" else inside.amax(0))
            if start + window >= length:
                break
        torch.testing.assert_close(pooled.states[number][pooled.mask[number]], torch.stack(rows))


def test_a_mean_has_the_position_of_the_middle_token() -> None:
    pooled = FunnelPoolerConfig().build(nn.Embedding(9, 16))(make_tokens(11, 4)).tokens
    assert pooled.origin[pooled.mask].tolist() == [1, 5, 9, 1]


def test_a_maximum_has_the_position_of_the_token_with_most_features() -> None:
    tokens = make_tokens(6)
    states = torch.zeros_like(tokens.states)
    states[0, 2, :10] = 1
    states[0, 1, 10:] = 1
    states[0, 5] = 1
    pooled = FunnelPoolerConfig(combine="max").build(nn.Embedding(9, 16))(tokens.with_states(states))
    assert pooled.tokens.origin.tolist() == [[2, 5]]
    assert pooled.mixture().weights.tolist() == [[[0, 0.375, 0.625, 0], [0, 1, 0, 0]]]
