from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sumpool.core import boundaries as module
from sumpool.core.boundaries import ConvolutionalLanguageModel, EntropyBoundariesConfig, entropy_spikes
from tests.core.batches import make_tokens


def test_spikes_exceed_the_preceding_tokens() -> None:
    values = torch.tensor([[1.0, 0.5, 0.7, 2.0, 2.0, 3.0, 2.5, 2.9]])
    assert entropy_spikes(values, 2).int().tolist() == [[1, 0, 0, 1, 0, 1, 0, 0]]
    assert entropy_spikes(values, 1).int().tolist() == [[1, 0, 1, 1, 0, 1, 0, 1]]


def naive(model: ConvolutionalLanguageModel, ids: list[int]) -> tuple[list[float], list[float]]:
    """Negative log-likelihood and entropy, token by token."""
    nlls, entropies = [], []
    blank = torch.zeros(model.embedding.embedding_dim, dtype=torch.float64)
    for position in range(len(ids)):
        window = [
            model.embedding.weight[ids[i]] if i >= 0 else blank for i in range(position - model.context, position + 1)
        ]
        mixed = torch.stack([model.mix.weight[:, :, i] @ vector for i, vector in enumerate(window)]).sum(0)
        assert model.mix.bias is not None
        log_probs = model.out(F.gelu(mixed + model.mix.bias)).log_softmax(0)
        entropies.append(-(log_probs.exp() * log_probs).sum().item())
        nlls.append(-log_probs[ids[position + 1]].item() if position + 1 < len(ids) else 0.0)
    return nlls, entropies


@pytest.mark.parametrize("context", [0, 3])
def test_the_language_model_is_causal_and_equal_in_any_chunks(context: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ConvolutionalLanguageModel(20, 6, context).double()
    ids = torch.randint(20, (2, 9))
    grads = []
    for limit in (1, 70, 1 << 22):
        monkeypatch.setattr(module, "_MAX_LOGITS", limit)
        nll, entropies = model(ids)
        for row in range(2):
            expected = naive(model, ids[row].tolist())
            torch.testing.assert_close(nll[row].tolist(), expected[0])
            torch.testing.assert_close(entropies[row].tolist(), expected[1])
        grads.append(torch.autograd.grad(nll.sum(), list(model.parameters())))
    for grad in grads[1:]:
        torch.testing.assert_close(grad, grads[0])


def test_losses_count_real_tokens_only() -> None:
    boundaries = EntropyBoundariesConfig(hidden=8).build(nn.Embedding(50, 16)).double()
    tokens = make_tokens(12, 1, 7)
    losses = boundaries(tokens).losses
    nll, entropies = boundaries.language_model(tokens.ids)
    expected = (nll[0, :11].mean() + nll[2, :6].mean()) / 3  # a single token has no successor
    assert losses["language_model"].item() == pytest.approx(expected.item())
    logits = boundaries.predictor(tokens)
    per_document = [
        F.binary_cross_entropy_with_logits(logits[row, :real], entropy_spikes(entropies, 2)[row, :real].double()).item()
        for row, real in enumerate((12, 1, 7))
    ]
    assert losses["boundaries"].item() == pytest.approx(sum(per_document) / 3)


@pytest.mark.slow
def test_the_language_model_learns_and_is_not_used_in_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    boundaries = EntropyBoundariesConfig(hidden=8).build(nn.Embedding(50, 16)).double()
    ids = torch.stack([(torch.arange(60) * 7) % 50, (torch.arange(60) * 7 + 3) % 50])
    tokens = replace(make_tokens(60, 60), ids=ids)
    optimizer = torch.optim.Adam(boundaries.parameters(), 0.01)
    for _ in range(60):
        loss = boundaries(tokens).losses["language_model"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5
    monkeypatch.setattr(ConvolutionalLanguageModel, "forward", None)
    segmentation = boundaries.eval()(tokens)
    assert segmentation.losses == {}
    assert torch.equal(segmentation.ends > 0.5, boundaries.predictor(tokens).sigmoid() > 0.5)
