from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.nn.positions import PositionsKind
from sumpool.core.tokens import Tokens


def naive(attention: VanillaAttention, states: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Loop over heads, queries and keys of one document (length, dim): what is mixed, and the weights of each head."""
    query, key, value = (part.view(len(states), 4, 4) for part in attention.project(states).chunk(3, dim=-1))
    logits = torch.empty(4, len(states), len(states), dtype=states.dtype)
    bias = attention.positions.bias(places[None])
    for head in range(4):
        for asking in range(len(states)):
            for seen in range(len(states)):
                distance = places[None, seen : seen + 1] - places[asking]
                turned = attention.positions.turn(key[None, None, seen : seen + 1, head], distance)[0, 0, 0]
                logits[head, asking, seen] = query[asking, head] @ turned / 2
                if bias is not None:
                    logits[head, asking, seen] += bias[0, head, asking, seen]
    weights = logits.softmax(-1)
    return attention.out(torch.einsum("hqk,khd->qhd", weights, value).flatten(1)), weights


@pytest.mark.parametrize("positions", ["none", "rotary", "relative"])
def test_equals_loops_over_heads_and_pairs(positions: PositionsKind, make_tokens: Callable[..., Tokens]) -> None:
    attention = VanillaAttention(16, 4, positions).double()
    for parameter in attention.positions.parameters():
        torch.nn.init.normal_(parameter)
    tokens = make_tokens(9, 5)
    places = torch.randint(0, 5000, (2, 9)).sort(1).values
    mixed = attention(tokens.states, tokens.mask, places)
    attention_received = attention.attention_received(tokens.states, tokens.mask, places, itself=True)
    for number, real in enumerate((9, 5)):
        expected, weights = naive(attention, tokens.states[number, :real], places[number, :real])
        torch.testing.assert_close(mixed[number, :real], expected)
        torch.testing.assert_close(attention_received[number, :real], weights.mean(0).sum(0))
