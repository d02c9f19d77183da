import pytest
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention import _kernel
from sumpool.core.attention.linear import LinearAttention
from tests.core.attention.checks import assert_equals_naive, assert_exact_gradient, mix, project
from tests.core.batches import make_tokens


@pytest.mark.parametrize("causal", [False, True])
def test_equals_explicit_weights(causal: bool) -> None:
    """Causal attention in several chunks, the last one filled up."""
    attention, tokens = LinearAttention(16, 4, causal=causal).double(), make_tokens(300, 128, 11, 1, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        query, key, value = project(attention, states)
        weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
        weights = weights.tril() if causal else weights
        return mix(attention, weights / weights.sum(2, keepdim=True), value)

    assert_equals_naive(attention, tokens, naive)


def test_the_gradient_of_causal_chunks_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernel, "CHUNK", 4)
    attention, tokens = LinearAttention(16, 4, causal=True).double(), make_tokens(6, 1)
    assert_exact_gradient(attention, tokens)
