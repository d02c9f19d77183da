import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.convolutional import ConvolutionalAttention, ConvolutionalAttentionConfig
from tests.core.attention.checks import assert_equals_naive
from tests.core.batches import make_tokens

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"per_head": True},
    {"kernel": 5, "stride": 2},
    {"kernel": 4, "stride": 3, "per_head": True},
    {"kernel": 1, "stride": 1},
    {"radius": 1},
    {"kernel": 4, "stride": 3, "per_head": True, "radius": 4},
    {"kernel": 5, "stride": 2, "radius": 300},
)
LENGTHS = (61, 31, 30, 7, 2, 1)


def build(settings: dict[str, Any]) -> ConvolutionalAttention:
    return ConvolutionalAttentionConfig.model_validate(settings).build(16, 4).double()


def naive(attention: ConvolutionalAttention, states: Tensor) -> Tensor:
    """Output of one document (length, dim), window by window."""
    convolve_bias, distribute_bias = attention.convolve.bias, attention.distribute.bias
    assert convolve_bias is not None
    assert distribute_bias is not None
    phrases = -(-len(states) // attention.stride)
    windows = attention.convolve.weight.size(2)

    def convolve(values: Tensor) -> Tensor:
        """One matrix product per phrase and group of features."""
        padded = F.pad(values, (0, 0, 0, windows))
        spans = torch.stack([padded[i * attention.stride :][:windows] for i in range(phrases)])
        groups = spans.unflatten(2, (attention.convolve.groups, -1))  # (phrases, window, groups, features)
        weight = attention.convolve.weight.unflatten(0, (attention.convolve.groups, -1))
        return torch.einsum("pwgi,goiw->pgo", groups, weight).flatten(1) + convolve_bias

    convolved = convolve(attention.project(states)) if attention.per_head else attention.project(convolve(states))
    query, key, value = convolved.view(phrases, 3, 4, 4).permute(1, 2, 0, 3)
    distance = (torch.arange(phrases)[:, None] - torch.arange(phrases)).abs()
    far = distance > attention.reach if attention.reach else distance < 0
    weights = (query @ key.mT / 2).masked_fill(far, -math.inf).softmax(-1)
    mixed = (weights @ value).transpose(0, 1).flatten(1).unflatten(1, (attention.distribute.groups, -1))
    weight = attention.distribute.weight.unflatten(0, (attention.distribute.groups, -1))
    tokens = torch.zeros(phrases * attention.stride + windows, 16, dtype=states.dtype)
    for index, parts in enumerate(torch.einsum("pgi,giow->pwgo", mixed, weight).flatten(2)):
        tokens[index * attention.stride :][:windows] += parts
    output: Tensor = attention.out(tokens[: len(states)] + distribute_bias)
    return output


@pytest.mark.parametrize("settings", SETTINGS)
def test_equals_explicit_windows(settings: dict[str, Any]) -> None:
    attention, tokens = build(settings), make_tokens(*LENGTHS, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))
