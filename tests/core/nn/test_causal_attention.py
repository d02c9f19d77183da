import math

import pytest
import torch
from torch import Tensor

from sumpool.core.nn import causal_attention as module
from sumpool.core.nn.causal_attention import causal_attention
from tests.core.nn.conftest import LargestTensor


def naive(query: Tensor, key: Tensor, value: Tensor, relative: tuple[Tensor, Tensor, Tensor] | None) -> Tensor:
    """Score all pairs by the formula of the paper."""
    heads, _, length, dim = query.shape
    content, position, distances = relative or (torch.zeros(heads, dim),) * 2 + (torch.zeros(heads, length, dim),)
    distance = torch.arange(length)[:, None] - torch.arange(length)
    by_pair = distances[:, distance.clamp(min=0)]  # (heads, queries, keys, dim)
    scores = (query + content[:, None, None]) @ key.mT
    scores = scores + ((query + position[:, None, None])[..., None, :] * by_pair[:, None]).sum(-1)
    return (scores / math.sqrt(dim)).masked_fill(distance < 0, -math.inf).softmax(-1) @ value


def inputs(length: int, batch: int = 2) -> list[Tensor]:
    torch.manual_seed(length)
    shapes = [*[(3, batch, length, 4)] * 3, (3, 4), (3, 4), (3, length, 4)]
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize(("length", "queries"), [(1, 1), (2, 1), (33, 4), (33, 64)])
@pytest.mark.parametrize("relative", [True, False])
def test_values_and_gradients_equal_those_of_the_formula(
    length: int, queries: int, relative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIN_QUERIES", queries)
    monkeypatch.setattr(module, "MAX_SCORES", 1)
    parts = inputs(length)
    used = parts if relative else parts[:3]
    triple = (parts[3], parts[4], parts[5]) if relative else None
    expected = naive(parts[0], parts[1], parts[2], triple)
    actual = causal_attention(parts[0], parts[1], parts[2], triple)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=0)
    weight = torch.randn_like(expected)
    gradients = [torch.autograd.grad((output * weight).sum(), used) for output in (actual, expected)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


@pytest.mark.slow
def test_gradients_with_dropout_equal_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_QUERIES", 3)
    monkeypatch.setattr(module, "MAX_SCORES", 1)

    def attend(*parts: Tensor) -> Tensor:
        torch.manual_seed(0)
        return causal_attention(parts[0], parts[1], parts[2], (parts[3], parts[4], parts[5]), dropout=0.4)

    assert torch.autograd.gradcheck(attend, inputs(4, batch=1))


def test_dropout_keeps_the_mean() -> None:
    parts = [part.detach() for part in inputs(5, batch=4000)]
    query, key, value = (part[:, :1].expand(-1, 4000, -1, -1).contiguous() for part in parts[:3])
    exact = causal_attention(query[:, :1], key[:, :1], value[:, :1])[:, 0]
    dropped = causal_attention(query, key, value, dropout=0.3)
    torch.testing.assert_close(dropped.mean(1), exact, atol=0.1, rtol=0)
    assert not torch.equal(dropped[:, 0], dropped[:, 1])


@pytest.mark.slow
def test_half_precision_sums_ranges_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_QUERIES", 1)
    monkeypatch.setattr(module, "MAX_SCORES", 1)
    parts = inputs(300)
    half = [part.detach().bfloat16().requires_grad_() for part in parts]
    exact = [part.detach().double().requires_grad_() for part in half]
    for group in (half, exact):
        causal_attention(group[0], group[1], group[2], (group[3], group[4], group[5])).sum().backward()
    for one, other in zip(half, exact, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert one.grad.dtype == torch.bfloat16
        error = (one.grad.double() - other.grad).norm() / other.grad.norm().clamp(min=1e-9)
        assert error < 0.03


def test_no_matrix_of_all_pairs_is_computed(largest: LargestTensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_QUERIES", 8)
    monkeypatch.setattr(module, "MAX_SCORES", 1)
    parts = inputs(200)
    with largest:
        causal_attention(parts[0], parts[1], parts[2], (parts[3], parts[4], parts[5])).sum().backward()
    assert largest.numel == 3 * 2 * 8 * 200  # heads, batch, queries, keys
