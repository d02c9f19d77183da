from functools import partial

import torch
from torch import Tensor

from sumpool.core.attention.skyformer import SkyformerAttention, SkyformerAttentionConfig
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


def inverse_of(matrix: Tensor, config: SkyformerAttentionConfig) -> Tensor:
    """Iterate as the released code does, from the column sums of each matrix."""
    identity = torch.eye(matrix.size(1)).double()
    inverse = matrix.mT / matrix.abs().sum(1).amax(1)[:, None, None]
    for _ in range(config.iterations):
        product = matrix @ inverse
        inverse = 0.25 * inverse @ (13 * identity - product @ (15 * identity - product @ (7 * identity - product)))
    return inverse


def naive(attention: SkyformerAttention, states: Tensor) -> Tensor:
    """Output of one document."""
    query, key, value = project(attention, states)
    index, exists = attention._draw(torch.ones(1, len(states), dtype=torch.bool))
    landmarks = torch.cat([query, key], dim=1)[:, index[exists]]
    left, middle, right = (
        (-torch.cdist(first, second).square() / (2 * 4**0.5)).exp()
        for first, second in ((query, landmarks), (landmarks, landmarks), (landmarks, key))
    )
    middle = middle + attention.config.regularization * torch.eye(middle.size(1)).double()
    root = middle.sum(2).rsqrt().diag_embed()
    inverse = root @ inverse_of(root @ middle @ root, attention.config) @ root
    return mix(attention, left @ inverse @ right, value)


def test_equals_explicit_weights() -> None:
    config = SkyformerAttentionConfig(landmarks=15)
    attention, tokens = config.build(16, 4).double(), make_tokens(30, 14, 11, 5, 1, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))
