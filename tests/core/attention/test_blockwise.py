from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.blockwise import BlockwiseAttention
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.tokens import Tokens


def vanilla_twin(attention: BlockwiseAttention) -> VanillaAttention:
    twin = VanillaAttention(16, 4).double()
    twin.load_state_dict(attention.state_dict())
    return twin


@pytest.mark.parametrize("block", [1, 7, 32, 100])
def test_equals_full_attention_in_each_block(block: int, make_tokens: Callable[..., Tokens]) -> None:
    attention = BlockwiseAttention(16, 4, block).double()
    twin = vanilla_twin(attention)
    tokens = make_tokens(75)
    pieces = [
        twin(piece, torch.ones(1, piece.size(1), dtype=torch.bool), torch.arange(piece.size(1))[None])
        for piece in tokens.states.split(block, 1)
    ]
    torch.testing.assert_close(attention(tokens.states, tokens.mask, tokens.positions), torch.cat(pieces, dim=1))


def test_one_block_is_vanilla(make_tokens: Callable[..., Tokens]) -> None:
    attention = BlockwiseAttention(16, 4, 64).double()
    tokens = make_tokens(64, 20)
    expected = vanilla_twin(attention)(tokens.states, tokens.mask, tokens.positions)
    torch.testing.assert_close(
        attention(tokens.states, tokens.mask, tokens.positions)[tokens.mask], expected[tokens.mask]
    )


def test_blocks_of_padding_are_skipped(make_tokens: Callable[..., Tokens]) -> None:
    attention = BlockwiseAttention(16, 4, 8).double()
    entered: list[int] = []
    attention.project.register_forward_pre_hook(lambda _, given: entered.append(given[0].size(0)))
    tokens = make_tokens(80, 3, 17)
    attention(tokens.states, tokens.mask, tokens.positions)
    assert entered == [10 + 1 + 3]


def test_gradient_is_exact(make_tokens: Callable[..., Tokens]) -> None:
    attention = BlockwiseAttention(16, 4, 4).double()
    tokens = make_tokens(6, 3)

    def mix(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)
        return mixed[tokens.mask]

    assert torch.autograd.gradcheck(mix, tokens.states.requires_grad_())
