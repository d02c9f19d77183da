from collections.abc import Callable
from itertools import product
from typing import Literal

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from sumpool.core.attention.skyformer import SkyformerAttention, SkyformerAttentionConfig
from sumpool.core.nn.pseudo_inverse import iterate_pseudo_inverse
from sumpool.core.tokens import Tokens


def explicit_weights(attention: SkyformerAttention, states: Tensor) -> tuple[Tensor, Tensor]:
    """Implied weights (heads, length, length) and values (heads, length, head_dim) of one document."""
    projected = attention.project(states).chunk(3, dim=-1)
    query, key, value = (part.view(len(states), 4, 4).transpose(0, 1) for part in projected)
    index, exists = attention._draw(torch.ones(1, len(states), dtype=torch.bool))
    landmarks = torch.cat([query, key], dim=1)[:, index[exists]]
    left, middle, right = (
        (-torch.cdist(first, second).square() / (2 * 4**0.5)).exp()
        for first, second in ((query, landmarks), (landmarks, landmarks), (landmarks, key))
    )
    middle = middle + attention.config.regularization * torch.eye(middle.size(1)).double()
    root = middle.sum(2).rsqrt().diag_embed() if attention.config.normalize else torch.eye(middle.size(1)).double()
    inverse = root @ iterate_pseudo_inverse(root @ middle @ root, attention.config.iterations) @ root
    return left @ inverse @ right, value


@pytest.mark.parametrize(
    ("landmarks_from", "replacement", "normalize"), [*product(("both", "halves"), (False, True), (False, True))]
)
def test_equals_explicit_weights(
    landmarks_from: Literal["both", "halves"], replacement: bool, normalize: bool, make_tokens: Callable[..., Tokens]
) -> None:
    config = SkyformerAttentionConfig(
        landmarks=15, landmarks_from=landmarks_from, replacement=replacement, normalize=normalize
    )
    attention, tokens = config.build(16, 4).double(), make_tokens(30, 14, 11, 5, 1, pad=1e3)
    mixed = attention(tokens.states, tokens.mask, tokens.positions)
    for include_self in (True, False):
        received = attention.attention_received(tokens.states, tokens.mask, tokens.positions, include_self)
        for number, real in enumerate((30, 14, 11, 5, 1)):
            weights, value = explicit_weights(attention, tokens.states[number, :real])
            expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
            torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
            if not include_self:
                weights = weights - weights.diagonal(dim1=1, dim2=2).diag_embed()
            torch.testing.assert_close(received[number, :real], weights.sum(1).mean(0), atol=1e-10, rtol=0)


@pytest.mark.parametrize("landmarks_from", ["both", "halves"])
def test_more_landmarks_approximate_kernelized_attention(
    landmarks_from: Literal["both", "halves"], make_tokens: Callable[..., Tokens]
) -> None:
    tokens, full = make_tokens(60, 48), KernelizedAttentionConfig().build(16, 2).double()
    expected = full(tokens.states, tokens.mask, tokens.positions)[tokens.mask]

    def error(landmarks: int) -> float:
        config = SkyformerAttentionConfig(
            landmarks=landmarks, landmarks_from=landmarks_from, regularization=1e-4, iterations=40
        )
        attention = config.build(16, 2).double()
        attention.load_state_dict(full.state_dict())
        mixed = attention(tokens.states, tokens.mask, tokens.positions)[tokens.mask]
        return float(((mixed - expected).norm() / expected.norm()).detach())

    errors = [error(landmarks) for landmarks in (8, 32, 120)]
    assert errors[1] < errors[0] / 2
    assert errors[2] < 1e-3  # all queries and keys


def test_landmarks_are_drawn_again_in_training_only(make_tokens: Callable[..., Tokens]) -> None:
    attention, tokens = SkyformerAttentionConfig(redraw=True, landmarks=8).build(16, 4).double(), make_tokens(20)

    def mix() -> Tensor:
        mixed: Tensor = attention(tokens.states, tokens.mask, tokens.positions)
        return mixed

    assert not torch.equal(mix(), mix())
    torch.manual_seed(3)
    first = mix()
    torch.manual_seed(3)
    assert torch.equal(mix(), first)
    attention.eval()
    assert torch.equal(mix(), mix())


@pytest.mark.parametrize("normalize", [False, True])
def test_gradients(normalize: bool, make_tokens: Callable[..., Tokens]) -> None:
    config = SkyformerAttentionConfig(landmarks=5, normalize=normalize)
    attention, tokens = config.build(16, 4).double(), make_tokens(7, 2)

    def forward(states: Tensor) -> Tensor:
        mixed: Tensor = attention(states, tokens.mask, tokens.positions)[tokens.mask]
        return mixed

    assert torch.autograd.gradcheck(forward, tokens.states.requires_grad_())
