import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn import masking
from sumpool.core.nn.masking import attend, attention_received, dot_product_attention
from sumpool.core.nn.numerics import at_least_float32, hash_uniform, matmul_exactly, round_up
from tests.core.batches import mask_of
from tests.core.nn.conftest import LargestTensor


def draw(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, dtype=dtype).requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("biased", [False, True])
def test_documents_without_tokens_get_zeros_and_no_gradient(
    biased: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the kernel of PyTorch in float32, by products in bf16."""
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: True)
    parts = [draw(2, 2, length, 8, dtype=dtype) for length in (5, 7, 7)]
    bias = draw(2, 2, 5, 7, dtype=torch.float32) if biased else None
    mixed = attend(parts[0], parts[1], parts[2], mask_of(7, 0), bias)
    assert mixed[0].abs().min() > 0
    assert not mixed[1].any()
    for gradient in torch.autograd.grad(mixed.float().square().sum(), [*parts, *([] if bias is None else [bias])]):
        assert gradient.isfinite().all()
        assert not gradient[1].any()


@pytest.mark.slow
def test_attention_received_is_differentiable_with_recomputed_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 60)
    query, key = torch.randn(2, 2, 2, 5, 4, dtype=torch.float64)
    bias = torch.randn(2, 2, 5, 5, dtype=torch.float64)

    def sum_weights(query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
        return attention_received(query, key, mask_of(5, 3), False, lambda queries: bias[:, :, queries])

    assert torch.autograd.gradcheck(sum_weights, [part.requires_grad_() for part in (query, key, bias)])


def test_attention_received_is_exact_under_autocast() -> None:
    query, key = torch.randn(2, 1, 2, 64, 8)
    with torch.autocast("cpu", torch.bfloat16):
        received = attention_received(query, key, torch.ones(1, 64, dtype=torch.bool), True, lambda _: None)
    assert received.dtype == torch.float32
    torch.testing.assert_close(received.sum(), torch.tensor(64.0), atol=1e-4, rtol=0)


def test_attention_received_computes_few_weights_at_a_time(
    largest: LargestTensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with the square of the length."""
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 2**12)
    query, key = (draw(1, 2, 512, 4, dtype=torch.float32) for _ in range(2))
    with largest:
        received = attention_received(query, key, torch.ones(1, 512, dtype=torch.bool), True, lambda _: None)
        received.square().sum().backward()
    assert largest.numel == 2**12


@pytest.mark.parametrize("form", ["none", "visible", "bias of hidden keys", "causal"])
def test_products_are_the_attention_of_pytorch(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_causal, keys = form == "causal", 9 if form == "causal" else 14
    query, key, value = (draw(3, 2, length, 8, dtype=torch.float64) for length in (9, keys, keys))
    bias = None
    if form == "visible":
        bias = torch.rand(3, 1, 1, keys) > 0.3
        bias[..., 0] = True  # every query sees a key
    elif form == "bias of hidden keys":
        hidden = torch.rand(3, 1, 9, keys) > 0.7
        hidden[..., 0] = False
        bias = torch.randn(3, 2, 9, keys, dtype=torch.float64).masked_fill(hidden, -torch.inf)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=is_causal)
    monkeypatch.setattr(masking, "_prefers_products", lambda *_: True)
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *_, **__: pytest.fail("it must not be called"))
    actual = dot_product_attention(query, key, value, bias, is_causal=is_causal)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=0)
    upstream = torch.randn_like(expected)
    for ours, theirs in zip(
        *(torch.autograd.grad(result, (query, key, value), upstream) for result in (actual, expected)), strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_products_are_taken_in_training_in_bf16_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: True)
    half, single = (draw(1, 2, 4, 8, dtype=dtype) for dtype in (torch.bfloat16, torch.float32))
    assert masking._prefers_products(half, half)
    assert not masking._prefers_products(single, single)
    with torch.autocast("cpu", torch.bfloat16):
        assert masking._prefers_products(single, single)
    with torch.no_grad():
        assert not masking._prefers_products(half, half)
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 2 * 4 * 4)
    assert masking._prefers_products(half, half)
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 2 * 4 * 4 - 1)
    assert not masking._prefers_products(half, half)
    monkeypatch.undo()
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: False)
    assert not masking._prefers_products(half, half)


def test_counts_are_rounded_up_to_a_multiple() -> None:
    assert [round_up(count, 4) for count in (0, 1, 4, 5)] == [0, 4, 4, 8]


def test_half_precision_is_widened_only() -> None:
    for given, expected in ((torch.bfloat16, torch.float32), (torch.float16, torch.float32)):
        assert at_least_float32(torch.ones(2, dtype=given)).dtype == expected
    for exact in (torch.float32, torch.float64):
        assert at_least_float32(torch.ones(2, dtype=exact)).dtype == exact


def test_products_are_exact_under_autocast() -> None:
    left, right = torch.rand(2, 3, 4), torch.rand(2, 4, 5)
    with torch.autocast("cpu", torch.bfloat16):
        product = matmul_exactly(left, right.double())
    assert product.dtype is torch.float32
    assert torch.equal(product, left @ right)


def test_hashes_are_uniform_and_reproducible() -> None:
    hashes = hash_uniform(torch.arange(100_000))
    assert bool(((hashes >= 0) & (hashes < 1)).all())
    counts = hashes.histc(bins=20, min=0, max=1)
    torch.testing.assert_close(counts, torch.full((20,), 5000.0), atol=300, rtol=0)
    assert torch.equal(hash_uniform(torch.tensor([[7, 3]])), hashes[torch.tensor([[7, 3]])])
    assert (hashes[:3] * 2**24).tolist() == [5328424, 3208387, 8777908]  # fmix32 of 1, 2 and 3, without 8 bits
