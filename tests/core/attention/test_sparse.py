from typing import Literal

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from sumpool.core.attention.sparse import SparseAttentionConfig
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


@pytest.mark.parametrize("pattern", ["strided", "fixed"])
@pytest.mark.parametrize("stride", [1, 5, 8, 50])
def test_equals_explicit_weights(pattern: Literal["strided", "fixed"], stride: int) -> None:
    columns = min(2, stride)
    attention = SparseAttentionConfig(pattern=pattern, stride=stride, columns=columns).build(16, 4).double()
    tokens = make_tokens(43, 11, 1, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        query, key, value = project(attention, states)
        places = torch.arange(len(states))
        distance = (places[:, None] - places).abs()
        if pattern == "strided":
            visible = (distance < stride) | (distance % stride == 0)
        else:
            visible = (places[:, None] // stride == places // stride) | (places % stride >= stride - columns)
        return mix(attention, (query @ key.mT / 2).masked_fill(~visible, -torch.inf).softmax(2), value)

    assert_equals_naive(attention, tokens, naive)


def test_more_columns_than_a_row_has_are_an_error() -> None:
    with pytest.raises(ValidationError, match="columns must be at most stride = 4, got 5"):
        SparseAttentionConfig(stride=4, columns=5)
