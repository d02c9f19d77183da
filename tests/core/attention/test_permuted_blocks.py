from collections.abc import Callable

import pytest
import torch

from sumpool.core.attention.permuted_blocks import PermutedBlocksAttentionConfig
from sumpool.core.tokens import Tokens


@pytest.mark.parametrize("block", [4, 7, 50])
def test_equals_explicit_weights(block: int, make_tokens: Callable[..., Tokens]) -> None:
    attention = PermutedBlocksAttentionConfig(block=block, shifted=3).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for number, real in enumerate((30, 11, 1)):
        projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
        query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
        blocks, count = torch.arange(real) // block, -(-real // block)
        shifts = torch.arange(4)[:, None, None]
        visible = (blocks[:, None] + shifts) % count == blocks  # (heads, queries, keys)
        weights = (query @ key.mT / 2).masked_fill(~visible, -torch.inf).softmax(2)
        expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
        torch.testing.assert_close(mixed[number, :real], expected)


def test_more_shifted_heads_than_heads_are_an_error() -> None:
    with pytest.raises(ValueError, match="shifted must be at most heads = 4, got 5; lower it"):
        PermutedBlocksAttentionConfig(shifted=5).build(16, 4)
