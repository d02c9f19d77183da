from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.linear import LinearAttention
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


def test_equals_explicit_weights() -> None:
    attention, tokens = LinearAttention(16, 4).double(), make_tokens(300, 128, 11, 1, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        query, key, value = project(attention, states)
        weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
        return mix(attention, weights / weights.sum(2, keepdim=True), value)

    assert_equals_naive(attention, tokens, naive)
