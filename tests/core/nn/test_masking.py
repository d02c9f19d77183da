import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn import masking
from sumpool.core.nn.masking import attend, attention_received, dot_product_attention, zero_padding
from sumpool.core.nn.numerics import at_least_float32, hash_uniform, indices_of_true, matmul_exactly, round_up


def no_bias(queries: slice) -> None:
    del queries


def test_zero_padding_overwrites_any_value() -> None:
    states = torch.tensor([[[1.0, 2.0], [torch.nan, torch.inf]]])
    assert zero_padding(states, torch.tensor([[True, False]])).tolist() == [[[1.0, 2.0], [0.0, 0.0]]]


@pytest.mark.parametrize("biased", [True, False])
def test_attend_equals_a_softmax_over_real_keys(biased: bool) -> None:
    query, key, value = torch.randn(3, 2, 4, 7, 8, dtype=torch.float64)
    bias = torch.randn(2, 4, 7, 7, dtype=torch.float64) if biased else None
    mask = torch.rand(2, 7) < 0.6
    mask[:, 0] = True
    logits = query @ key.transpose(2, 3) / 8**0.5 + (0.0 if bias is None else bias)
    expected = logits.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1) @ value
    torch.testing.assert_close(attend(query, key, value, mask, bias), expected)
    torch.testing.assert_close(attend(query, key, value, None, bias), logits.softmax(-1) @ value)


@pytest.mark.parametrize("biased", [True, False])
def test_attend_gives_zeros_to_empty_documents(biased: bool) -> None:
    query, key, value = (states.requires_grad_() for states in torch.randn(3, 2, 1, 5, 4).unbind())
    bias = torch.randn(2, 1, 5, 5, requires_grad=True) if biased else None
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[0] = True
    output = attend(query, key, value, mask, bias)
    assert output[0].abs().min() > 0
    assert torch.equal(output[1], torch.zeros_like(output[1]))
    output.square().sum().backward()
    for tensor in (query, key, value, bias):
        assert tensor is None or (tensor.grad is not None and tensor.grad.isfinite().all())


def naive_attention_received(query: Tensor, key: Tensor, real: int, include_self: bool, bias: Tensor) -> Tensor:
    """Loop over heads and real queries of one document (heads, length, head_dim)."""
    heads, length, head_dim = query.shape
    total = query.new_zeros(length)
    for head in range(heads):
        for row in range(real):
            logits = key[head, :real] @ query[head, row] / head_dim**0.5 + bias[head, row, :real]
            weights = logits.exp() / logits.exp().sum()
            if not include_self:
                weights[row] = 0.0
            total[:real] += weights / heads
    return total


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("max_weights", [1, 200, 10**6])
def test_attention_received_equals_a_loop_for_any_chunk_of_weights(
    include_self: bool, max_weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masking, "MAX_WEIGHTS", max_weights)
    query, key = torch.randn(2, 3, 4, 11, 8, dtype=torch.float64)
    bias = torch.randn(3, 4, 11, 11, dtype=torch.float64)
    reals = [11, 6, 0]
    mask = torch.arange(11) < torch.tensor(reals)[:, None]
    query[1, :, 6:] = key[1, :, 6:] = 1e3  # padding
    received = attention_received(query, key, mask, include_self, lambda queries: bias[:, :, queries])
    for document, real in enumerate(reals):
        expected = naive_attention_received(query[document], key[document], real, include_self, bias[document])
        torch.testing.assert_close(received[document], expected, atol=1e-12, rtol=0)


@pytest.mark.slow
def test_attention_received_is_differentiable_with_recomputed_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 60)
    query, key = torch.randn(2, 2, 2, 5, 4, dtype=torch.float64)
    bias = torch.randn(2, 2, 5, 5, dtype=torch.float64)
    mask = torch.arange(5) < torch.tensor([[5], [3]])

    def sum_weights(query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
        return attention_received(query, key, mask, False, lambda queries: bias[:, :, queries])

    assert torch.autograd.gradcheck(sum_weights, [part.requires_grad_() for part in (query, key, bias)])


def test_attention_received_is_exact_under_autocast() -> None:
    query, key = torch.randn(2, 1, 2, 64, 8)
    with torch.autocast("cpu", torch.bfloat16):
        received = attention_received(query, key, torch.ones(1, 64, dtype=torch.bool), True, no_bias)
    assert received.dtype == torch.float32
    torch.testing.assert_close(received.sum(), torch.tensor(64.0), atol=1e-4, rtol=0)


def test_attention_received_stores_few_weights_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors saved for the backward pass do not grow with the square of the length."""
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 2**12)
    largest = 0

    def record_size(saved: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, saved.numel())
        return saved

    query, key = torch.randn(2, 1, 2, 512, 4, requires_grad=True).unbind()
    with torch.autograd.graph.saved_tensors_hooks(record_size, lambda saved: saved):
        received = attention_received(query, key, torch.ones(1, 512, dtype=torch.bool), True, no_bias)
    received.square().sum().backward()
    assert largest <= 2**12


def draw(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*shape, dtype=dtype).requires_grad_()


def masks(queries: int, keys: int) -> dict[str, Tensor | None]:
    """Forms of the bias, in which every query sees a key."""
    visible = torch.rand(3, 1, 1, keys) > 0.3
    visible[..., 0] = True
    bias = torch.randn(3, 2, queries, keys, dtype=torch.float64)
    hidden = torch.rand(3, 1, queries, keys) > 0.7
    hidden[..., 0] = False
    return {
        "none": None,
        "visible": visible,
        "bias": bias,
        "bias of hidden keys": bias.masked_fill(hidden, -torch.inf),
    }


@pytest.mark.parametrize("form", ["none", "visible", "bias", "bias of hidden keys", "causal"])
def test_products_are_the_attention_of_pytorch(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    is_causal = form == "causal"
    query, key, value = (draw(3, 2, length, 8, dtype=torch.float64) for length in (9, 9 if is_causal else 14, 9))
    value = value if is_causal else draw(3, 2, 14, 8, dtype=torch.float64)
    bias = None if is_causal else masks(9, 14)[form]
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
    called: list[torch.dtype] = []

    def kernel(query: Tensor, *_: object, **__: object) -> Tensor:
        called.append(query.dtype)
        return query

    monkeypatch.setattr(F, "scaled_dot_product_attention", kernel)
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: True)
    half, single = (draw(1, 2, 4, 8, dtype=dtype) for dtype in (torch.bfloat16, torch.float32))
    dot_product_attention(half, half, half)
    with torch.autocast("cpu", torch.bfloat16):
        assert dot_product_attention(single, single, single).dtype is torch.bfloat16
    assert not called
    dot_product_attention(single, single, single)
    with torch.no_grad():
        dot_product_attention(half, half, half)
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 31)
    dot_product_attention(half, half, half)
    monkeypatch.setattr(masking, "MAX_WEIGHTS", 32)
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: False)
    dot_product_attention(half, half, half)
    assert called == [torch.float32, torch.bfloat16, torch.bfloat16, torch.bfloat16]


@pytest.mark.parametrize("biased", [False, True])
def test_products_have_finite_gradients_where_nothing_is_visible(biased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: True)
    torch.manual_seed(4)
    query, key, value = (draw(2, 2, length, 8, dtype=torch.bfloat16) for length in (5, 7, 7))
    mask = torch.tensor([[True] * 7, [False] * 7])
    bias = torch.randn(2, 2, 5, 7) if biased else None
    mixed = attend(query, key, value, mask, bias)
    assert not mixed[1].any()
    for gradient in torch.autograd.grad(mixed.float().square().sum(), (query, key, value)):
        assert gradient.isfinite().all()
        assert not gradient[1].any()


def test_products_in_bf16_are_as_exact_as_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of a rounding of bf16 of the scores are a few times those of rounding the result."""
    monkeypatch.setattr(masking, "has_packed_bf16", lambda: True)
    torch.manual_seed(5)
    query, key, value = (draw(4, 4, 128, 64, dtype=torch.float64) for _ in range(3))
    expected = F.scaled_dot_product_attention(query, key, value)
    query, key, value = (tensor.detach().bfloat16().requires_grad_() for tensor in (query, key, value))
    kernel = F.scaled_dot_product_attention(query, key, value)
    products = dot_product_attention(query, key, value)
    of_kernel, of_products = ((result - expected).square().mean().sqrt() for result in (kernel, products))
    assert of_products < 2 * of_kernel


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


def test_indices_of_true_are_in_order() -> None:
    mask = torch.rand(20, 33) < torch.linspace(0, 1, 20)[:, None]
    index, real = indices_of_true(mask, 33)
    for row in range(20):
        assert index[row, real[row]].tolist() == mask[row].nonzero().flatten().tolist()
    assert bool((index < 33).all())
