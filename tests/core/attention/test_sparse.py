from collections.abc import Callable
from typing import Literal

import pytest
import torch
from pydantic import ValidationError

from sumpool.core.attention.sparse import SparseAttentionConfig
from sumpool.core.tokens import Tokens


@pytest.mark.parametrize("pattern", ["strided", "fixed"])
@pytest.mark.parametrize("stride", [1, 5, 8, 50])
def test_equals_explicit_weights(
    pattern: Literal["strided", "fixed"], stride: int, make_tokens: Callable[..., Tokens]
) -> None:
    columns = min(2, stride)
    attention = SparseAttentionConfig(pattern=pattern, stride=stride, columns=columns).build(16, 4).double()
    tokens = make_tokens(43, 11, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    received = [
        attention.attention_received(tokens.states, tokens.mask, tokens.positions, own) for own in (True, False)
    ]
    for number, real in enumerate((43, 11, 1)):
        projected = attention.project(tokens.states[number, :real]).chunk(3, dim=-1)
        query, key, value = (part.view(real, 4, 4).transpose(0, 1) for part in projected)
        places = torch.arange(real)
        distance = (places[:, None] - places).abs()
        if pattern == "strided":
            visible = (distance < stride) | (distance % stride == 0)
        else:
            visible = (places[:, None] // stride == places // stride) | (places % stride >= stride - columns)
        weights = (query @ key.mT / 2).masked_fill(~visible, -torch.inf).softmax(2)
        torch.testing.assert_close(mixed[number, :real], attention.out((weights @ value).transpose(0, 1).flatten(1)))
        for part, expected in zip(received, (weights, weights - weights.diagonal(0, 1, 2).diag_embed()), strict=True):
            torch.testing.assert_close(part[number, :real], expected.mean(0).sum(0))


def test_more_columns_than_a_row_has_are_an_error() -> None:
    with pytest.raises(ValidationError, match="columns must be at most stride = 4, got 5"):
        SparseAttentionConfig(stride=4, columns=5)
