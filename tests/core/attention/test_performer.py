import pytest
import torch
from torch import Tensor

from sumpool.core.attention.performer import PerformerAttentionConfig, orthogonal_directions
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


def test_equals_explicit_weights() -> None:
    attention, tokens = PerformerAttentionConfig(features=10).build(16, 4).double(), make_tokens(30, 11, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        query, key, value = project(attention, states)
        query, key = (
            (part / 4**0.25 @ attention.directions.T - (part / 4**0.25).square().sum(2, keepdim=True) / 2).exp()
            for part in (query, key)
        )
        weights = query @ key.mT
        return mix(attention, weights / weights.sum(2, keepdim=True), value)

    assert_equals_naive(attention, tokens, naive)


def test_directions_are_orthogonal_in_blocks() -> None:
    directions = orthogonal_directions(20, 8, torch.Generator().manual_seed(1)).double()
    for block in (directions[:8], directions[8:16], directions[16:]):
        products = block @ block.T
        torch.testing.assert_close(products, products.diag().diag(), atol=1e-5, rtol=0)
    lengths = orthogonal_directions(8192, 8, torch.Generator().manual_seed(1)).square().sum(1)
    assert lengths.mean().item() == pytest.approx(8, rel=0.05)
    assert lengths.std().item() == pytest.approx(4, rel=0.1)
