import pytest
import torch
from torch import Tensor

from sumpool.core.attention.dilated import DilatedAttentionConfig
from sumpool.core.nn.positions import PositionsKind
from tests.core.attention.checks import assert_equals_masked
from tests.core.batches import make_tokens


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
@pytest.mark.parametrize(("window", "dilation"), [(2, 1), (2, 3), (16, 2), (16, 50)])
def test_sees_every_few_tokens(window: int, dilation: int, positions: PositionsKind) -> None:
    attention = DilatedAttentionConfig(window=window, dilation=dilation, positions=positions).build(16, 4).double()
    for parameter in attention.positions.parameters():
        torch.nn.init.normal_(parameter)

    def visible(length: int) -> Tensor:
        distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
        return (distance <= window // 2 * dilation) & (distance % dilation == 0)

    assert_equals_masked(attention, make_tokens(100, 37, 1, 0, pad=7.0), visible)
