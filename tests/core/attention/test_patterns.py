"""Attentions that are a softmax over the keys of a pattern, against full attention under a mask."""

import math
from functools import partial
from itertools import product
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.attention._base import AttentionConfig, Windows
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.dilated import DilatedAttentionConfig
from sumpool.core.attention.longformer import LongformerAttention, LongformerAttentionConfig
from sumpool.core.attention.neighborhood import NeighborhoodAttentionConfig
from sumpool.core.attention.permuted_blocks import PermutedBlocksAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttention, SlidingWindowAttentionConfig
from sumpool.core.attention.sparse import SparseAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.nn import masking
from sumpool.core.nn.positions import PositionsKind
from tests.core.attention.checks import assert_equals_masked, assert_equals_naive, mix, project
from tests.core.batches import make_tokens

POSITIONS: tuple[PositionsKind, ...] = get_args(PositionsKind)
BANDS = [(2, 1), (2, 3), (16, 2), (16, 50)]
"""Window and dilation."""
CONFIGS: list[AttentionConfig] = [
    *(VanillaAttentionConfig(positions=kind) for kind in POSITIONS),
    *(BlockwiseAttentionConfig(block=block, positions=kind) for block, kind in product((1, 7, 32, 109), POSITIONS)),
    *(SlidingWindowAttentionConfig(window=size, positions=kind) for size, kind in product((2, 16, 64, 300), POSITIONS)),
    *(
        DilatedAttentionConfig(window=window, dilation=step, positions=kind)
        for (window, step), kind in product(BANDS, POSITIONS)
    ),
    *(NeighborhoodAttentionConfig(radius=radius) for radius in (1, 5, 20, 60, 300)),
    *(
        LongformerAttentionConfig(window=window, global_tokens=count)
        for window, count in ((2, 0), (2, 7), (16, 1), (16, 300), (64, 7))
    ),
    *(PermutedBlocksAttentionConfig(block=block, shifted=3) for block in (4, 7, 50)),
    *(SparseAttentionConfig(stride=stride, columns=min(2, stride)) for stride in (1, 5, 8, 50)),
]


def is_visible(config: AttentionConfig, length: int) -> Tensor:
    """Whether queries see keys, ([heads,] queries, keys)."""
    query, key = torch.arange(length)[:, None], torch.arange(length)
    distance = (query - key).abs()
    match config:
        case VanillaAttentionConfig():
            return distance >= 0
        case BlockwiseAttentionConfig(block=block):
            return query // block == key // block
        case SlidingWindowAttentionConfig(window=window):
            return distance <= window // 2
        case DilatedAttentionConfig(window=window, dilation=dilation):
            return (distance <= window // 2 * dilation) & (distance % dilation == 0)
        case NeighborhoodAttentionConfig(radius=radius):
            return distance <= radius
        case LongformerAttentionConfig(window=window, global_tokens=count):
            return (distance <= window // 2) | (query < count) | (key < count)
        case PermutedBlocksAttentionConfig(block=block):
            shifts, blocks = torch.arange(4)[:, None, None], -(-length // block)
            return (query // block + shifts) % blocks == key // block
        case SparseAttentionConfig(stride=stride, columns=columns):
            return (query // stride == key // stride) | (key % stride >= stride - columns)
    raise AssertionError(config)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_equals_full_attention_under_a_mask(config: AttentionConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 100_000)  # some queries of the batch at a time
    attention = config.build(16, 4).double()
    for parameter in attention.positions.parameters():
        nn.init.normal_(parameter)
    tokens = make_tokens(100, 61, 41, 25, 11, 3, 1, 0, length=109, pad=7.0)
    assert_equals_masked(attention, tokens, partial(is_visible, config))


@pytest.mark.parametrize(
    "config",
    [
        *(SlidingWindowAttentionConfig(window=window, global_first=True) for window in (2, 16, 64, 300)),
        SlidingWindowAttentionConfig(window=16, global_first=True, positions="relative"),
        *(
            LongformerAttentionConfig(window=window, global_tokens=count, separate=True)
            for window, count in ((2, 0), (2, 7), (16, 1), (16, 300), (64, 7))
        ),
    ],
    ids=str,
)
def test_first_tokens_attend_to_all_by_maps_of_their_own(
    config: SlidingWindowAttentionConfig | LongformerAttentionConfig,
) -> None:
    attention = config.build(16, 4).double()
    assert isinstance(attention, SlidingWindowAttention | LongformerAttention)
    for parameter in attention.positions.parameters():
        nn.init.normal_(parameter)

    def split(projected: Tensor) -> Tensor:
        return projected.view(len(projected), -1, 4, 4).permute(1, 2, 0, 3)  # (parts, heads, length, head_dim)

    def naive(states: Tensor) -> Tensor:
        indices = torch.arange(len(states))
        first = indices < attention.first_tokens
        visible = ((indices[:, None] - indices).abs() <= attention.reach) | first
        query, key, value = project(attention, states)
        bias = attention.positions.bias(indices[None])
        scores = query @ key.mT / 2 + (0.0 if bias is None else bias[0])
        output = mix(attention, scores.masked_fill(~visible, -math.inf).softmax(-1), value)
        own_query, own_key_value = own_maps(attention)
        if own_query is None or own_key_value is None:
            return output
        (query,), (key, value) = split(own_query(states)), split(own_key_value(states))
        return torch.where(first[:, None], mix(attention, (query @ key.mT / 2).softmax(-1), value), output)

    assert_equals_naive(attention, make_tokens(100, 61, 5, 1, 0, length=109, pad=1e3), naive)


def own_maps(attention: SlidingWindowAttention | LongformerAttention) -> tuple[nn.Module | None, nn.Module | None]:
    """Maps of first tokens to queries, and of all tokens to the keys and values that these attend to."""
    if isinstance(attention, LongformerAttention):
        return attention.global_query, attention.global_key_value
    assert attention.first is not None
    return attention.first.query, attention.first.key_value


def test_chunks_of_padding_are_skipped_and_no_row_of_others_is_empty() -> None:
    """Kernels of GPUs and ONNX return NaN for a softmax over nothing."""
    tokens = make_tokens(40, 3, 9)
    assert len(Windows(tokens, reach=4).chunks(tokens.mask)) == 10 + 1 + 3
    assert Windows(make_tokens(12, 1, 0), reach=4).visible.any(2).all()
