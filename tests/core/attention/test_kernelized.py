import pytest
import torch
from torch import Tensor

from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


@pytest.mark.parametrize("normalize", [False, True])
def test_equals_explicit_weights(normalize: bool) -> None:
    attention = KernelizedAttentionConfig(normalize=normalize).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        query, key, value = project(attention, states)
        weights = (-torch.cdist(query, key).square() / (2 * 4**0.5)).exp()
        return mix(attention, weights / weights.sum(2, keepdim=True) if normalize else weights, value)

    assert_equals_naive(attention, tokens, naive)


def test_normalised_weights_of_far_keys_do_not_vanish() -> None:
    attention, tokens = KernelizedAttentionConfig(normalize=True).build(16, 4), make_tokens(9, dtype=torch.float32)
    mixed = attention(tokens.with_states(tokens.states * 1e4))
    assert mixed.isfinite().all()
    assert mixed.abs().amin() > 0
