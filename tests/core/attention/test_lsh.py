from functools import partial

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.lsh import LshAttention, LshAttentionConfig
from tests.core.attention.checks import assert_equals_naive
from tests.core.batches import make_tokens


def visible_by_chunk(order: list[int], size: int) -> dict[int, set[int]]:
    """Tokens visible to each token: its chunk and the chunk before."""
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    return {
        token: set(chunk) | set(chunks[number - 1] if number else [])
        for number, chunk in enumerate(chunks)
        for token in chunk
    }


def hashed(attention: LshAttention, query: Tensor) -> list[set[int]]:
    """Union of the visible tokens over the rounds, for one head of one document (length, head_dim)."""
    length = len(query)
    directions = -(-length // (2 * attention.bucket))
    visible: list[set[int]] = [set() for _ in range(length)]
    for rotation in attention.rotations:
        buckets = []
        for token in range(length):
            projected = (query[token] @ rotation[:, :directions]).tolist()
            both = projected + [-number for number in projected]
            buckets.append(both.index(max(both)))
        order = sorted(range(length), key=lambda token: (buckets[token], token))
        for token, others in visible_by_chunk(order, attention.bucket).items():
            visible[token] |= others
    return visible


def local(length: int, block: int) -> list[set[int]]:
    """Tokens of the same block and its neighbours."""
    return [{other for other in range(length) if abs(other // block - token // block) <= 1} for token in range(length)]


def naive(attention: LshAttention, states: Tensor) -> Tensor:
    """Output of one document (length, dim), token by token."""
    length, head_dim = len(states), 4
    query, value = (part.view(length, 4, head_dim) for part in attention.project(states).chunk(2, dim=-1))
    weights = torch.zeros(4, length, length, dtype=states.dtype)
    for head in range(4):
        vectors = query[:, head].detach()
        visible = hashed(attention, vectors) if head < attention.hash_heads else local(length, attention.bucket)
        for token in range(length):
            others = sorted(visible[token] - {token}) or [token]
            keys = vectors[others] / vectors[others].norm(dim=1, keepdim=True)
            weights[head, token, others] = (keys @ vectors[token] / head_dim**0.5).softmax(0)
    output: Tensor = attention.out(torch.einsum("hqk,khd->qhd", weights, value).flatten(1))
    return output


@pytest.mark.parametrize(("bucket", "hashes"), [(8, 1), (8, 4), (3, 2), (1, 3), (100, 2)])
def test_equals_loops_over_tokens_and_rounds(bucket: int, hashes: int) -> None:
    config = LshAttentionConfig(bucket=bucket, hashes=hashes, local_heads=1)
    attention = LshAttention(config, 16, 4).double()
    tokens = make_tokens(70, 37, 2, 1, pad=7.0)
    assert_equals_naive(attention, tokens, partial(naive, attention))


def test_long_documents_share_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.core.attention.lsh._MAX_DIRECTIONS", 3)
    attention = LshAttention(LshAttentionConfig(bucket=4), 16, 4).double()
    tokens = make_tokens(100, 9)
    assert attention(tokens).isfinite().all()
    assert attention.rotations.shape == (4, 4, 3)
