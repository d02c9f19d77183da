import torch
from torch import nn

from sumpool.core.boundaries import NoneBoundariesConfig
from tests.core.batches import make_tokens


def test_no_token_ends_a_segment() -> None:
    tokens = make_tokens(30, 12)
    ends = NoneBoundariesConfig().build(nn.Embedding(50, 16))(tokens).ends
    assert torch.equal(ends, torch.zeros(2, 30, dtype=ends.dtype))
