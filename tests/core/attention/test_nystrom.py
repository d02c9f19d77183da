from collections.abc import Callable

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.nystrom import NystromAttention, NystromAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttention
from sumpool.core.nn.pseudo_inverse import iterate_pseudo_inverse
from sumpool.core.tokens import Tokens


def explicit_weights(attention: NystromAttention, states: Tensor) -> tuple[Tensor, Tensor]:
    """Implied weights (heads, length, length) and values (heads, length, head_dim) of one document."""
    projected = attention.project(states).chunk(3, dim=-1)
    query, key, value = (part.view(len(states), 4, 4).transpose(0, 1) for part in projected)
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
    return weights, value


@pytest.mark.parametrize("kernel", [0, 5])
@pytest.mark.parametrize("landmarks", [1, 7])
def test_equals_explicit_weights(landmarks: int, kernel: int, make_tokens: Callable[..., Tokens]) -> None:
    attention = NystromAttentionConfig(landmarks=landmarks, kernel=kernel).build(16, 4).double()
    tokens = make_tokens(30, 14, 11, 3, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for include_self in (True, False):
        received = attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for number, real in enumerate((30, 14, 11, 3, 1)):
            weights, value = explicit_weights(attention, tokens.states[number, :real])
            expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
            torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
            if not include_self:
                weights = weights - weights.diagonal(dim1=1, dim2=2).diag_embed()
            torch.testing.assert_close(received[number, :real], weights.sum(1).mean(0), atol=1e-10, rtol=0)


def test_more_landmarks_approximate_full_attention(make_tokens: Callable[..., Tokens]) -> None:
    full, lengths = VanillaAttention(16, 2).double(), (192, 170)
    tokens = make_tokens(*lengths)
    for number, real in enumerate(lengths):  # documents that change slowly
        slow = F.interpolate(tokens.states[number, :12].T[None], size=real, mode="linear", align_corners=True)
        tokens.states[number, :real] = slow[0].T
    expected = full(tokens.states, tokens.mask, tokens.positions)[tokens.mask]

    def error(landmarks: int) -> float:
        attention = NystromAttentionConfig(landmarks=landmarks, kernel=0, iterations=12).build(16, 2).double()
        attention.load_state_dict(full.state_dict())
        mixed = attention(tokens.states, tokens.mask, tokens.positions)[tokens.mask]
        return float((mixed - expected).square().mean().sqrt().detach())

    errors = [error(landmarks) for landmarks in (4, 24, 192)]
    assert errors[1] < errors[0] / 4
    assert errors[2] < 1e-4  # a landmark for each token


def test_padding_gaps_do_not_move_segments(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = NystromAttentionConfig(landmarks=4, kernel=0).build(16, 4).double(), make_tokens(12)
    expected = attention(tokens.states, tokens.mask, tokens.positions)
    index = torch.arange(0, 24, 2)
    states = torch.full((1, 24, 16), 1e3, dtype=torch.float64).index_copy(1, index, tokens.states)
    mask = torch.arange(24)[None] % 2 == 0
    mixed = attention(states, mask, torch.arange(24)[None])[:, index]
    torch.testing.assert_close(mixed, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kernel", [0, 3])
def test_gradients(kernel: int, make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = NystromAttentionConfig(landmarks=3, kernel=kernel).build(16, 4).double(), make_tokens(7, 2)

    def forward(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)[tokens.mask]
        return mixed

    assert torch.autograd.gradcheck(forward, tokens.states.requires_grad_())


def test_an_even_kernel_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be odd, or 0 for no convolution, got 4"):
        NystromAttentionConfig(kernel=4)
