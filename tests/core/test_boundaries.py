"""Contract of boundary predictors, tested on every variant; each against a naive version."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import binom
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core import boundaries as module
from sumpool.core.boundaries import (
    BoundariesConfig,
    ConvolutionalLanguageModel,
    EntropyBoundaries,
    EntropyBoundariesConfig,
    FixedBoundariesConfig,
    GumbelBoundaries,
    GumbelBoundariesConfig,
    NoneBoundariesConfig,
    RandomBoundariesConfig,
    SentenceBoundariesConfig,
    UnigramBoundaries,
    UnigramBoundariesConfig,
    WhitespaceBoundariesConfig,
    count_nll,
    entropy_spikes,
    most_likely_ends,
    run_ends,
    uniform_draws,
)
from sumpool.settings import config_class, kinds
from tests.core.batches import alone, make_tokens, mask_of

EMBEDDING = nn.Embedding(50, 16)


@pytest.mark.parametrize("kind", kinds("sumpool.core.boundaries"))
def test_losses_are_means_over_documents(kind: str) -> None:
    config = config_class("sumpool.core.boundaries", kind)()
    assert isinstance(config, BoundariesConfig)
    boundaries, tokens = config.build(EMBEDDING).double().train(), make_tokens(37, 64, length=70)
    tokens = replace(tokens, phrases=tokens.positions // 3)
    losses = []
    for documents in (tokens, alone(tokens, 0), alone(tokens, 1)):
        torch.manual_seed(5)
        losses.append(boundaries(documents).losses)
    for name, loss in losses[0].items():
        assert loss.item() == pytest.approx((losses[1][name] + losses[2][name]).item() / 2)


def test_fixed_segments_end_at_multiples_of_the_size() -> None:
    for size in (1, 3, 100):
        ends = FixedBoundariesConfig(size=size).build(EMBEDDING)(make_tokens(10)).ends
        assert ends.nonzero()[:, 1].tolist() == list(range(size - 1, 10, size))


def test_words_and_sentences_end_where_their_index_changes() -> None:
    words, sentences = torch.tensor([[[1, 1, 2, 3, 3, 4]], [[0, 0, 0, 0, 2, 2]]])
    tokens = replace(make_tokens(6), words=words, sentences=sentences)
    assert WhitespaceBoundariesConfig().build(EMBEDDING)(tokens).ends.tolist() == [[0, 1, 1, 0, 1, 1]]
    assert SentenceBoundariesConfig().build(EMBEDDING)(tokens).ends.tolist() == [[0, 0, 0, 1, 0, 1]]


def test_the_last_real_token_ends_a_run_whatever_the_padding() -> None:
    assert run_ends(torch.tensor([[7, 7, 7]]), mask_of(2, length=3))[0, :2].tolist() == [False, True]


def test_no_token_ends_a_segment() -> None:
    ends = NoneBoundariesConfig().build(EMBEDDING)(make_tokens(30, 12)).ends
    assert torch.equal(ends, torch.zeros(2, 30, dtype=ends.dtype))


def test_draws_have_their_rate_and_follow_seed_index_and_id() -> None:
    tokens = make_tokens(20000)
    first, second = (RandomBoundariesConfig(rate=0.3).build(EMBEDDING, seed=seed).eval() for seed in (1, 2))
    ends = first(tokens).ends
    assert abs(ends.mean().item() - 0.3) < 0.01
    assert torch.equal(ends, first(tokens).ends)
    assert not torch.equal(ends, second(tokens).ends)
    assert not torch.equal(ends, first(replace(tokens, ids=tokens.ids + 1)).ends)
    first.train()
    assert not torch.equal(first(tokens).ends, first(tokens).ends)


def test_draws_of_a_part_equal_those_of_the_whole() -> None:
    tokens = make_tokens(300)
    whole = uniform_draws(tokens, 7)
    part = {name: getattr(tokens, name)[:, 100:150] for name in ("states", "mask", "ids")}
    assert torch.equal(uniform_draws(replace(tokens, **part, first=torch.tensor([100])), 7), whole[:, 100:150])
    assert abs(torch.corrcoef(torch.stack([whole[0, 1:], whole[0, :-1]]))[0, 1].item()) < 0.2


def build_gumbel(**settings: object) -> GumbelBoundaries:
    return GumbelBoundaries(GumbelBoundariesConfig.model_validate(settings), EMBEDDING).double()


def set_logit(boundaries: GumbelBoundaries, logit: float) -> None:
    """Set the logit of every token to a constant."""
    with torch.no_grad():
        boundaries.predictor.decide.weight.zero_()
        boundaries.predictor.decide.bias.fill_(logit)


def test_the_prior_is_binomial() -> None:
    lengths, counts = [10, 37, 1, 5], [3, 37, 0, 2]
    ends = torch.full((4, 37), 9.0, dtype=torch.float64)  # arbitrary padding
    expected = 0.0
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        ends[row, :length] = (torch.randperm(length) < count).double()
        expected -= binom.logpmf(count, length, 0.2) / length / 4
    assert count_nll(ends, mask_of(*lengths), 0.2).item() == pytest.approx(expected)


def test_training_samples_from_the_predicted_probabilities() -> None:
    tokens, logit = make_tokens(8000), -2.0
    probability = torch.tensor(logit).sigmoid().item()
    for boundaries in (build_gumbel(hidden=8).train(), build_gumbel(hidden=8, inference="sample").eval()):
        set_logit(boundaries, logit)
        ends = boundaries(tokens).ends
        assert set(ends.round(decimals=9).unique().tolist()) == {0.0, 1.0}
        assert ends.mean().item() == pytest.approx(probability, abs=0.015)
        assert not torch.equal(ends > 0.5, boundaries(tokens).ends > 0.5)


def test_hard_inference_thresholds_at_one_half() -> None:
    boundaries = build_gumbel().eval()
    tokens = make_tokens(300)
    ends = boundaries(tokens).ends
    torch.testing.assert_close(ends, (boundaries.predictor(tokens).sigmoid() > 0.5).double())
    assert 0 < ends.mean() < 1


def test_the_number_of_most_likely_ends_is_the_expected_number() -> None:
    logits = torch.tensor([[0.3, 0.2, 0.45, 0.1, 0.4], [0.4, 0.4, 0.4, 0.9, 0.9], [0.9, 0.9, 0.9, 0.9, 0.9]]).logit()
    mask = mask_of(5, 3, 0)
    assert most_likely_ends(logits, mask).int().tolist() == [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert most_likely_ends(logits + 1, mask).int().sum(1).tolist() == [3, 2, 0]


def test_expected_inference_ends_segments_at_low_probabilities() -> None:
    tokens = make_tokens(400, 100, length=450, pad=torch.nan)
    expected, hard = build_gumbel(inference="expected").eval(), build_gumbel().eval()
    for boundaries in (expected, hard):
        set_logit(boundaries, -1.0)
    assert not hard(tokens).ends.any()
    ends = expected(tokens).ends.masked_fill(~tokens.mask, 0)
    assert ends.sum(1).tolist() == [round(400 / (1 + math.e)), round(100 / (1 + math.e))]


def test_the_gradient_is_that_of_the_relaxed_sample() -> None:
    boundaries = build_gumbel(temperature=0.7).eval()
    tokens = make_tokens(9)
    weights = torch.randn(1, 9, dtype=torch.float64)
    (boundaries(tokens).ends * weights).sum().backward()
    gradient = boundaries.predictor.widen.weight.grad
    boundaries.zero_grad()
    ((boundaries.predictor(tokens) / 0.7).sigmoid() * weights).sum().backward()
    torch.testing.assert_close(gradient, boundaries.predictor.widen.weight.grad)


def test_the_loss_is_cross_entropy_on_logits() -> None:
    boundaries = UnigramBoundaries(UnigramBoundariesConfig(hidden=8), EMBEDDING).double()
    tokens = replace(make_tokens(4), phrases=torch.tensor([[0, 0, 1, 1]]))
    probability = boundaries.predictor(tokens).sigmoid()[0]
    expected = -torch.where(torch.tensor([False, True, False, True]), probability, 1 - probability).log().mean()
    assert boundaries(tokens).losses["boundaries"].item() == pytest.approx(expected.item())


def test_without_phrases_there_is_no_loss_and_no_gradient() -> None:
    boundaries = UnigramBoundaries(UnigramBoundariesConfig(), EMBEDDING).double()
    tokens = make_tokens(300)
    segmentation = boundaries(tokens)
    assert segmentation.losses == {}
    assert torch.equal(segmentation.ends > 0.5, boundaries.predictor(tokens).sigmoid() > 0.5)
    assert 0 < segmentation.ends.mean() < 1
    assert not segmentation.ends.requires_grad


def test_spikes_exceed_the_preceding_tokens() -> None:
    values = torch.tensor([[1.0, 0.5, 0.7, 2.0, 2.0, 3.0, 2.5, 2.9]])
    assert entropy_spikes(values, 2).int().tolist() == [[1, 0, 0, 1, 0, 1, 0, 0]]
    assert entropy_spikes(values, 1).int().tolist() == [[1, 0, 1, 1, 0, 1, 0, 1]]


def naive(model: ConvolutionalLanguageModel, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood and entropy of each token (length,)."""
    embedded = F.pad(model.embedding(ids), (0, 0, model.context, 0))
    windows = [embedded[position : position + model.context + 1] for position in range(len(ids))]
    mixed = torch.stack([torch.einsum("oiw,wi->o", model.mix.weight, window) for window in windows])
    assert model.mix.bias is not None
    log_probs = model.out(F.gelu(mixed + model.mix.bias)).log_softmax(1)
    nll = F.pad(-log_probs[:-1].gather(1, ids[1:, None])[:, 0], (0, 1))
    return nll, -(log_probs.exp() * log_probs).sum(1)


@pytest.mark.parametrize("context", [0, 3])
def test_the_language_model_is_causal_and_equal_in_any_chunks(context: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ConvolutionalLanguageModel(20, 6, context).double()
    ids = torch.randint(20, (2, 9))
    grads = []
    for limit in (1, 70, 1 << 22):
        monkeypatch.setattr(module, "_MAX_LOGITS", limit)
        nll, entropies = model(ids)
        for row in range(2):
            torch.testing.assert_close((nll[row], entropies[row]), naive(model, ids[row]))
        grads.append(torch.autograd.grad(nll.sum(), list(model.parameters())))
        torch.testing.assert_close(grads[-1], grads[0])


def test_losses_count_real_tokens_only() -> None:
    boundaries = EntropyBoundaries(EntropyBoundariesConfig(hidden=8), EMBEDDING).double()
    tokens = make_tokens(12, 1, 7)
    losses = boundaries(tokens).losses
    assert boundaries.language_model is not None
    nll, entropies = boundaries.language_model(tokens.ids)
    expected = (nll[0, :11].mean() + nll[2, :6].mean()) / 3  # a single token has no successor
    assert losses["language_model"].item() == pytest.approx(expected.item())
    logits = boundaries.predictor(tokens)
    spikes = entropy_spikes(entropies, 2).double()
    by_document = [
        F.binary_cross_entropy_with_logits(logits[row, :real], spikes[row, :real])
        for row, real in enumerate((12, 1, 7))
    ]
    torch.testing.assert_close(losses["boundaries"], torch.stack(by_document).mean())
    assert boundaries.eval()(tokens).losses == {}
