from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.nystrom import NystromAttention, NystromAttentionConfig
from sumpool.core.nn.low_rank import iterate_pseudo_inverse
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


def naive(attention: NystromAttention, states: Tensor) -> Tensor:
    """Output of one document."""
    query, key, value = project(attention, states)
    count = min(attention.landmarks, len(states))
    of_segment = F.one_hot(torch.arange(len(states)) * count // len(states), count).double()
    average = of_segment.T / of_segment.sum(0)[:, None]  # (landmarks, length)
    left, middle, right = (
        (first @ second.mT / 2).softmax(2)
        for first, second in ((query, average @ key), (average @ query, average @ key), (average @ query, key))
    )
    weights = left @ iterate_pseudo_inverse(middle, attention.iterations) @ right
    if attention.convolution is not None:
        kernel = attention.convolution.kernel_size[0]
        shift = torch.arange(len(states)) - torch.arange(len(states))[:, None] + kernel // 2  # (queries, keys)
        inside = (shift >= 0) & (shift < kernel)
        weights = weights + attention.convolution.weight[:, 0, shift.clamp(0, kernel - 1)] * inside
    return mix(attention, weights, value)


@pytest.mark.parametrize("kernel", [0, 5])
@pytest.mark.parametrize("landmarks", [1, 7])
def test_equals_explicit_weights(landmarks: int, kernel: int) -> None:
    attention = NystromAttentionConfig(landmarks=landmarks, kernel=kernel).build(16, 4).double()
    tokens = make_tokens(30, 14, 11, 3, 1, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))


def test_padding_gaps_do_not_move_segments() -> None:
    attention, tokens = NystromAttentionConfig(landmarks=4, kernel=0).build(16, 4).double(), make_tokens(12)
    expected = attention(tokens)
    index = torch.arange(0, 24, 2)
    states = torch.full((1, 24, 16), 1e3, dtype=torch.float64).index_copy(1, index, tokens.states)
    mask = torch.arange(24)[None] % 2 == 0
    mixed = attention(Tokens.of_states(states, mask, torch.arange(24)[None]))[:, index]
    torch.testing.assert_close(mixed, expected, atol=1e-12, rtol=0)
