from dataclasses import replace

import pytest
import torch

from sumpool.core.attention.blockwise import BlockwiseAttention
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.tokens import Tokens
from tests.core.batches import make_tokens


def build_pair(block: int, positions: PositionsKind) -> tuple[BlockwiseAttention, VanillaAttention]:
    """Blockwise and full attention with the same parameters."""
    attention = BlockwiseAttention(16, 4, block, positions).double()
    for parameter in attention.positions.parameters():
        torch.nn.init.normal_(parameter)
    vanilla = VanillaAttention(16, 4, positions).double()
    vanilla.load_state_dict(attention.state_dict())
    return attention, vanilla


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
@pytest.mark.parametrize("block", [1, 7, 32, 100])
def test_equals_full_attention_in_each_block(block: int, positions: PositionsKind) -> None:
    attention, vanilla = build_pair(block, positions)
    tokens = make_tokens(75)
    positions_in_source = torch.randint(0, 5000, (1, 75)).sort(1).values
    blocks = list(
        zip(
            tokens.states.split(block, 1), tokens.mask.split(block, 1), positions_in_source.split(block, 1), strict=True
        )
    )
    expected = torch.cat([vanilla(Tokens.of_states(*part)) for part in blocks], dim=1)
    torch.testing.assert_close(attention(replace(tokens, positions=positions_in_source)), expected)
    parts = [vanilla.attention_received(Tokens.of_states(*part), include_self=True) for part in blocks]
    received = torch.cat(parts, dim=1)
    torch.testing.assert_close(
        attention.attention_received(replace(tokens, positions=positions_in_source), include_self=True), received
    )


def test_blocks_of_padding_are_skipped() -> None:
    attention = BlockwiseAttention(16, 4, 8).double()
    batch_sizes: list[int] = []
    attention.project.register_forward_pre_hook(lambda _, args: batch_sizes.append(args[0].size(0)))
    tokens = make_tokens(80, 3, 17)
    attention(tokens)
    attention.attention_received(tokens, include_self=True)
    assert batch_sizes == [10 + 1 + 3] * 2
