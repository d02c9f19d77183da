import pytest
import torch
from torch import Tensor

from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from tests.core.attention.checks import assert_equals_masked
from tests.core.batches import make_tokens


@pytest.mark.parametrize("radius", [1, 5, 20, 60, 300])
def test_sees_the_neighbours(radius: int) -> None:
    attention = NeighborhoodAttentionConfig(radius=radius).build(16, 4).double()

    def visible(length: int) -> Tensor:
        indices = torch.arange(length)
        return (indices[:, None] - indices).abs() <= radius

    tokens = make_tokens(100, 61, 41, 40, 25, 11, 3, 1, 0, pad=1e3)
    assert_equals_masked(attention, tokens, visible)
