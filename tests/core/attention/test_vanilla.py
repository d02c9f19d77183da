from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.nn.positions import PositionsKind
from tests.core.batches import make_tokens


def naive(attention: VanillaAttention, states: Tensor, source_positions: Tensor) -> tuple[Tensor, Tensor]:
    """Output and weights of each head for one document (length, dim), by loops over heads, queries and keys."""
    query, key, value = (part.view(len(states), 4, 4) for part in attention.project(states).chunk(3, dim=-1))
    logits = torch.empty(4, len(states), len(states), dtype=states.dtype)
    bias = attention.positions.bias(source_positions[None])
    for head in range(4):
        for query_index in range(len(states)):
            for key_index in range(len(states)):
                distance = source_positions[None, key_index : key_index + 1] - source_positions[query_index]
                single_key = key[None, None, key_index : key_index + 1, head]
                rotated = attention.positions.rotate(single_key, distance)[0, 0, 0]
                logits[head, query_index, key_index] = query[query_index, head] @ rotated / 2
                if bias is not None:
                    logits[head, query_index, key_index] += bias[0, head, query_index, key_index]
    weights = logits.softmax(-1)
    return attention.out(torch.einsum("hqk,khd->qhd", weights, value).flatten(1)), weights


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
def test_equals_loops_over_heads_and_pairs(positions: PositionsKind) -> None:
    attention = VanillaAttention(16, 4, positions).double()
    for parameter in attention.positions.parameters():
        torch.nn.init.normal_(parameter)
    tokens = make_tokens(9, 5)
    source_positions = torch.randint(0, 5000, (2, 9)).sort(1).values
    mixed = attention(replace(tokens, positions=source_positions))
    received = attention.attention_received(replace(tokens, positions=source_positions), include_self=True)
    for number, real in enumerate((9, 5)):
        expected, weights = naive(attention, tokens.states[number, :real], source_positions[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected)
        torch.testing.assert_close(received[number, :real], weights.mean(0).sum(0))
