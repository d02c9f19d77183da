import pytest
import torch

from sumpool.core.attention.performer import orthogonal_directions


def test_directions_are_orthogonal_in_blocks() -> None:
    directions = orthogonal_directions(20, 8, torch.Generator().manual_seed(1)).double()
    for block in (directions[:8], directions[8:16], directions[16:]):
        products = block @ block.T
        torch.testing.assert_close(products, products.diag().diag(), atol=1e-5, rtol=0)
    lengths = orthogonal_directions(8192, 8, torch.Generator().manual_seed(1)).square().sum(1)
    assert lengths.mean().item() == pytest.approx(8, rel=0.05)
    assert lengths.std().item() == pytest.approx(4, rel=0.1)
