import math

import pytest
import torch
from torch import Tensor

from sumpool.core.nn import causal_attention as module
from sumpool.core.nn.causal_attention import causal_attention


def naive(query: Tensor, key: Tensor, value: Tensor, relative: tuple[Tensor, Tensor, Tensor] | None) -> Tensor:
    """Score every pair by the formula of the paper."""
    heads, length, dim = query.size(0), query.size(2), query.size(3)
    rows = []
    for i in range(length):
        content, position, distances = relative or (torch.zeros(heads, dim),) * 2 + (torch.zeros(heads, length, dim),)
        scores = torch.stack(
            [
                ((query[:, :, i] + content[:, None]) * key[:, :, j]).sum(2)
                + ((query[:, :, i] + position[:, None]) * distances[:, i - j, None]).sum(2)
                for j in range(i + 1)
            ],
            2,
        )
        rows.append((scores / math.sqrt(dim)).softmax(2)[:, :, None] @ value[:, :, : i + 1])
    return torch.cat(rows, 2)


def inputs(length: int, batch: int = 2) -> list[Tensor]:
    torch.manual_seed(length)
    shapes = [*[(3, batch, length, 4)] * 3, (3, 4), (3, 4), (3, length, 4)]
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize(("length", "queries"), [(1, 1), (2, 1), (7, 4), (33, 4), (33, 64)])
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


def test_no_matrix_of_all_pairs_is_stored() -> None:
    sizes: list[int] = []
    parts = inputs(200)

    def record(saved: Tensor) -> Tensor:
        sizes.append(saved.numel())
        return saved

    with torch.autograd.graph.saved_tensors_hooks(record, lambda saved: saved):
        causal_attention(parts[0], parts[1], parts[2], (parts[3], parts[4], parts[5]))
    assert max(sizes) == parts[0].numel()
