import pytest
import torch
from torch import Tensor

from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from sumpool.core.nn import masking
from tests.core.attention.checks import assert_equals_naive, project, weigh
from tests.core.batches import make_tokens


@pytest.mark.parametrize("max_weights", [2**24, 200])
@pytest.mark.parametrize("normalize", [False, True])
def test_equals_explicit_weights(normalize: bool, max_weights: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "MAX_WEIGHTS", max_weights)
    attention = KernelizedAttentionConfig(normalize=normalize).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, pad=1e3)

    def naive(states: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = project(attention, states)
        weights = (-torch.cdist(query, key).square() / (2 * 4**0.5)).exp()
        return weigh(attention, weights / weights.sum(2, keepdim=True) if normalize else weights, value)

    assert_equals_naive(attention, tokens, naive)


def test_normalised_weights_of_far_keys_do_not_vanish() -> None:
    attention, tokens = KernelizedAttentionConfig(normalize=True).build(16, 4), make_tokens(9, dtype=torch.float32)
    received = attention.attention_received(tokens.with_states(tokens.states * 1e4), include_self=True)
    torch.testing.assert_close(received.sum(), torch.tensor(9.0))
