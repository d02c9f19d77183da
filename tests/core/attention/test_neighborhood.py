import pytest
import torch
from torch import Tensor

from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from tests.core.attention.checks import assert_equals_masked
from tests.core.batches import make_tokens


@pytest.mark.parametrize("edges", ["cut", "shift"])
@pytest.mark.parametrize("radius", [1, 5, 20, 60, 300])
def test_sees_the_neighbours(radius: int, edges: str) -> None:
    config = NeighborhoodAttentionConfig.model_validate({"radius": radius, "edges": edges})

    def visible(length: int) -> Tensor:
        indices = torch.arange(length)
        shifted = indices.clamp(min(radius, length - 1), max(length - 1 - radius, 0))
        centre = shifted if edges == "shift" else indices
        return (centre[:, None] - indices).abs() <= radius

    tokens = make_tokens(100, 61, 41, 40, 25, 11, 3, 1, 0, pad=1e3)
    assert_equals_masked(config.build(16, 4).double(), tokens, visible)
