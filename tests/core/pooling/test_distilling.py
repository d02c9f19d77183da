import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sumpool.core.pooling.distilling import DistillingPoolerConfig
from tests.core.batches import make_tokens


@pytest.mark.parametrize("length", [1, 2, 3, 30, 31])
def test_equals_convolution_and_max_pooling(length: int) -> None:
    pooler = DistillingPoolerConfig().build(nn.Embedding(5, 16)).double()
    tokens = make_tokens(length, 12, pad=1e3)
    pooled = pooler(tokens).tokens
    for number, real in enumerate((length, 12)):
        weight = pooler.convolve.weight.view(16, 3, 16).transpose(1, 2)  # (dim, dim, kernel)
        convolved = F.conv1d(tokens.states[number : number + 1, :real].mT, weight, pooler.convolve.bias, padding=1)
        expected = F.max_pool1d(F.elu(convolved), 3, 2, padding=1).mT[0]
        count = int(pooled.mask[number].sum())
        assert count == -(-real // 2)
        torch.testing.assert_close(pooled.states[number, :count], expected, atol=1e-12, rtol=0)
        origin = pooled.origin[number, :count]
        assert torch.equal(origin // 2, torch.arange(count))
        assert (origin < real).all()
