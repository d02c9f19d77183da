import pytest
import torch
from torch import Tensor

from sumpool.core.attention.permuted_blocks import PermutedBlocksAttentionConfig
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


@pytest.mark.parametrize("block", [4, 7, 50])
def test_equals_explicit_weights(block: int) -> None:
    attention = PermutedBlocksAttentionConfig(block=block, shifted=3).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        query, key, value = project(attention, states)
        blocks, count = torch.arange(len(states)) // block, -(-len(states) // block)
        shifts = torch.arange(4)[:, None, None]
        visible = (blocks[:, None] + shifts) % count == blocks  # (heads, queries, keys)
        return mix(attention, (query @ key.mT / 2).masked_fill(~visible, -torch.inf).softmax(2), value)

    assert_equals_naive(attention, tokens, naive)


def test_more_shifted_heads_than_heads_are_an_error() -> None:
    with pytest.raises(ValueError, match="shifted must be at most heads = 4, got 5; lower it"):
        PermutedBlocksAttentionConfig(shifted=5).build(16, 4)
