from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.attention import bigbird
from sumpool.core.attention.bigbird import BigbirdAttention, BigbirdAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.tokens import Tokens


def pattern(attention: BigbirdAttention, blocks: int) -> Tensor:
    """Visible blocks of a document, (heads, blocks of queries, blocks of keys)."""
    indices = attention._visible_blocks(torch.full((1, 1, 1, 1), blocks), blocks)[0]
    return torch.nn.functional.one_hot(indices + 1, blocks + 1).sum(2)[..., 1:]


def test_equals_explicit_weights(make_tokens: Callable[..., Tokens]) -> None:
    attention = BigbirdAttentionConfig(block=4, random_blocks=2).build(16, 4).double()
    tokens = make_tokens(62, 41, 11, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for number, real in enumerate((62, 41, 11, 1)):
        projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
        query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
        visible = pattern(attention, -(-real // 4)).repeat_interleave(4, 1).repeat_interleave(4, 2)
        visible[:, :4] = 1
        weights = (query @ key.mT / 2).masked_fill(visible[:, :real, :real] == 0, -torch.inf).softmax(2)
        torch.testing.assert_close(mixed[number, :real], attention.out((weights @ value).transpose(0, 1).flatten(1)))


def test_blocks_see_neighbours_global_and_random_blocks_once() -> None:
    attention = BigbirdAttentionConfig(block=4, random_blocks=2, seed=3).build(16, 4)
    visible = pattern(attention, 20)
    assert visible.max() == 1
    blocks = torch.arange(20)
    fixed = ((blocks[:, None] - blocks).abs() <= 1) | (blocks == 0)
    assert (visible[:, fixed] == 1).all()
    assert ((visible.sum(2) - fixed.sum(1)) == 2).all()
    assert (visible[0] != visible[1]).any()
    other = BigbirdAttentionConfig(block=4, random_blocks=2, seed=4).build(16, 4)
    assert (pattern(other, 20) != visible).any()


def test_enough_random_blocks_are_full_attention(make_tokens: Callable[..., Tokens]) -> None:
    full, tokens = VanillaAttention(16, 4).double(), make_tokens(50, 21)
    attention = BigbirdAttentionConfig(block=4, random_blocks=13).build(16, 4).double()
    attention.load_state_dict(full.state_dict())
    mixed, expected = (part(tokens.states, tokens.mask, tokens.positions)[tokens.mask] for part in (attention, full))
    torch.testing.assert_close(mixed, expected)


def test_equal_draws_select_the_first_blocks_whatever_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bigbird, "hash_uniform", lambda indices: torch.full(indices.shape, 0.25))
    attention = BigbirdAttentionConfig(block=4, random_blocks=3).build(16, 4)
    for blocks in (40, 41, 70, 300):
        indices = attention._visible_blocks(torch.full((1, 1, 1, 1), 40), blocks)[0, 0, 20]
        assert set(indices[indices >= 0].tolist()) == {0, 1, 2, 3, 19, 20, 21}
