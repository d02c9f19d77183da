import torch

from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from tests.core.batches import make_tokens


def test_normalised_weights_of_far_keys_do_not_vanish() -> None:
    attention, tokens = KernelizedAttentionConfig(normalize=True).build(16, 4), make_tokens(9, dtype=torch.float32)
    mixed = attention(tokens.with_states(tokens.states * 1e4))
    assert mixed.isfinite().all()
    assert mixed.abs().amin() > 0
