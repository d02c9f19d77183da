import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn import cross_entropy as module
from sumpool.core.nn.cross_entropy import cross_entropy
from sumpool.special_tokens import PAD
from tests.core.nn.conftest import LargestTensor

VOCAB, DIM = 300, 8


def plain(
    states: Tensor, matrix: Tensor, bias: Tensor | None, target: Tensor, smoothing: float, extra: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Cross-entropy from the logits of all tokens."""
    log_probs = F.linear(states, matrix, bias).log_softmax(-1)
    possible = log_probs > -torch.inf
    uniform = log_probs.masked_fill(~possible, 0.0).sum(-1) / possible.sum(-1)
    log_prob = log_probs.gather(-1, target[..., None]).squeeze(-1).masked_fill(target == PAD, 0.0)
    if extra is not None:
        log_prob = torch.logaddexp(log_prob, extra)
    nll = ((smoothing - 1) * log_prob - smoothing * uniform).masked_fill(target == PAD, 0.0).sum()
    return nll, log_prob.masked_fill(target == PAD, 0.0).detach()


def make_input(batch: int = 5, target: int = 60, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """States, a matrix, and references of many lengths, one empty and one with padding at its beginning."""
    states = torch.randn(batch, target, DIM, dtype=dtype, requires_grad=True)
    matrix = torch.randn(VOCAB, DIM, dtype=dtype, requires_grad=True)
    lengths = torch.randint(0, target, (batch, 1))
    lengths[0] = 0
    reference = torch.randint(5, VOCAB, (batch, target)).masked_fill(torch.arange(target) >= lengths, PAD)
    reference[-1] = torch.randint(5, VOCAB, (target,))
    reference[-1, 0] = PAD
    return states, matrix, reference


@pytest.fixture(params=[1, 64 * VOCAB, 2**24], ids=["least", "few", "all"])
def _chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOGITS", request.param)


@pytest.mark.usefixtures("_chunks")
@pytest.mark.parametrize(
    ("smoothing", "biased", "mixed"), [(0.0, False, False), (0.0, True, True), (0.1, False, True), (0.1, True, False)]
)
def test_fused_equals_plain_cross_entropy(smoothing: float, biased: bool, mixed: bool) -> None:
    states, matrix, target = make_input()
    bias = torch.randn(VOCAB, dtype=torch.float64).index_fill(0, torch.tensor([PAD, 2]), -torch.inf) if biased else None
    extra = None
    if mixed:
        some = torch.rand(target.shape) < 0.5
        extra = torch.randn(target.shape, dtype=torch.float64).masked_fill(some, -torch.inf).requires_grad_()
    parameters = [states, matrix] if extra is None else [states, matrix, extra]
    actual = cross_entropy(states, matrix, bias, target, PAD, smoothing, extra)
    expected = plain(states, matrix, bias, target, smoothing, extra)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    gradients = torch.autograd.grad(3 * actual[0], parameters)
    torch.testing.assert_close(gradients, torch.autograd.grad(3 * expected[0], parameters), atol=1e-12, rtol=1e-12)


def test_padding_that_is_computed_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    states, matrix, target = make_input()
    expected = cross_entropy(states, matrix, None, target, PAD, 0.1)
    gradients = torch.autograd.grad(expected[0], (states, matrix))

    class AllRows(module._Sums):
        def chunks(self) -> tuple[Tensor, ...]:
            chunks: tuple[Tensor, ...] = torch.arange(len(self.target)).split(64)
            return chunks

    monkeypatch.setattr(module, "_Sums", AllRows)
    actual = cross_entropy(states, matrix, None, target, PAD, 0.1)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(torch.autograd.grad(actual[0], (states, matrix)), gradients, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_gradients_are_computed_separately(index: int) -> None:
    states, matrix, target = make_input()
    parts = [states, matrix, torch.randn(target.shape, dtype=torch.float64, requires_grad=True)]
    together, _ = cross_entropy(parts[0], parts[1], None, target, PAD, 0.1, parts[2])
    expected = torch.autograd.grad(together, parts)[index]
    alone = [part if number == index else part.detach() for number, part in enumerate(parts)]
    nll, _ = cross_entropy(alone[0], alone[1], None, target, PAD, 0.1, alone[2])
    assert torch.equal(torch.autograd.grad(nll, alone[index])[0], expected)


def test_empty_references_have_no_loss() -> None:
    states, matrix, target = make_input()
    nll, log_prob = cross_entropy(states, matrix, None, torch.full_like(target, PAD), PAD, 0.1)
    assert not any(part.any() for part in (nll, log_prob, *torch.autograd.grad(nll, (states, matrix))))


def test_a_second_backward_pass_is_refused() -> None:
    states, matrix, target = make_input()
    nll, _ = cross_entropy(states, matrix, None, target, PAD)
    nll.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        nll.backward()


@pytest.mark.usefixtures("_chunks")
@pytest.mark.parametrize("weights", [torch.float32, torch.bfloat16])
def test_half_precision_is_summed_in_single_precision(weights: torch.dtype) -> None:
    states, matrix, target = make_input(dtype=torch.float32)
    states, matrix = (part.detach().to(weights).requires_grad_() for part in (states, matrix))
    bias = torch.randint(-2, 3, (VOCAB,)).to(weights)
    with torch.autocast("cpu", torch.bfloat16, enabled=weights == torch.float32):
        actual = cross_entropy(states, matrix, bias, target, PAD, 0.1)
    wide = [part.detach().bfloat16().double().requires_grad_() for part in (states, matrix)]
    expected = plain(wide[0], wide[1], bias.double(), target, 0.1, None)
    assert actual[0].dtype == actual[1].dtype == torch.float32
    torch.testing.assert_close(actual[0].double(), expected[0], atol=0, rtol=1e-3)
    gradients = torch.autograd.grad(actual[0], (states, matrix))
    exact_gradients = torch.autograd.grad(expected[0], wide)
    for gradient, exact in zip(gradients, exact_gradients, strict=True):
        assert gradient.dtype == weights
        assert (gradient.double() - exact).norm() < 0.01 * exact.norm()


def test_no_tensor_exceeds_a_chunk_of_logits(largest: LargestTensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOGITS", 64 * VOCAB)
    states, matrix, target = make_input(batch=50)
    with largest:
        cross_entropy(states, matrix, None, target, PAD, 0.1)[0].backward()
    assert states.size(0) * states.size(1) > 1000
    assert largest.numel == max(64 * VOCAB, states.numel())
