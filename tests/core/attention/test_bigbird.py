import pytest
import torch
from torch import Tensor

from sumpool.core.attention.bigbird import BigbirdAttention, BigbirdAttentionConfig
from sumpool.core.nn import numerics
from tests.core.attention.checks import assert_equals_masked
from tests.core.batches import make_tokens


def pattern(attention: BigbirdAttention, blocks: int) -> Tensor:
    """Visible blocks of a document, (heads, blocks of queries, blocks of keys)."""
    indices = attention._visible_blocks(torch.full((1, 1, 1, 1), blocks), blocks)[0]
    return torch.nn.functional.one_hot(indices + 1, blocks + 1).sum(2)[..., 1:]


def test_equals_explicit_weights() -> None:
    attention = BigbirdAttentionConfig(block=4, random_blocks=2).build(16, 4).double()

    def visible(length: int) -> Tensor:
        blocks = pattern(attention, -(-length // 4)).repeat_interleave(4, 1).repeat_interleave(4, 2)
        blocks[:, :4] = 1
        return blocks[:, :length, :length] > 0

    assert_equals_masked(attention, make_tokens(62, 41, 11, 1, pad=1e3), visible)


def test_blocks_see_neighbours_global_and_random_blocks_once() -> None:
    attention = BigbirdAttentionConfig(block=4, random_blocks=2).build(16, 4)
    visible = pattern(attention, 20)
    assert visible.max() == 1
    blocks = torch.arange(20)
    fixed = ((blocks[:, None] - blocks).abs() <= 1) | (blocks == 0)
    assert (visible[:, fixed] == 1).all()
    assert ((visible.sum(2) - fixed.sum(1)) == 2).all()
    assert (visible[0] != visible[1]).any()


def test_equal_draws_select_the_first_blocks_whatever_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "hash_uniform", lambda indices: torch.full(indices.shape, 0.25))
    attention = BigbirdAttentionConfig(block=4, random_blocks=3).build(16, 4)
    for blocks in (40, 41, 70, 300):
        indices = attention._visible_blocks(torch.full((1, 1, 1, 1), 40), blocks)[0, 0, 20]
        assert set(indices[indices >= 0].tolist()) == {0, 1, 2, 3, 19, 20, 21}
