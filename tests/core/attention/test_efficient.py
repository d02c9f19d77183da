import pytest
import torch

from sumpool.core.attention.efficient import EfficientAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from tests.core.batches import make_tokens


@pytest.mark.parametrize("local_heads", [1, 3])
def test_local_heads_attend_within_a_window(local_heads: int) -> None:
    attention = EfficientAttentionConfig(local_heads=local_heads, window=6).build(16, 4).double()
    whole = EfficientAttentionConfig().build(16, 4).double()
    near = SlidingWindowAttentionConfig(window=6).build(16, 4).double()
    tokens = make_tokens(30, 11, 1)
    for other in (whole, near):
        other.load_state_dict(attention.state_dict())
        torch.nn.init.eye_(other.out.weight)
        torch.nn.init.zeros_(other.out.bias)
    torch.nn.init.eye_(attention.out.weight)
    torch.nn.init.zeros_(attention.out.bias)
    mixed, of_whole, of_near = (part(tokens)[tokens.mask] for part in (attention, whole, near))
    linear = 4 * (4 - local_heads)  # features of the linear heads
    torch.testing.assert_close(mixed, torch.cat([of_whole[:, :linear], of_near[:, linear:]], dim=1))
