import pytest
import torch
from torch import Tensor

from sumpool.core.nn import masking
from sumpool.core.nn.masking import attend, attention_received, zero_padding


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
