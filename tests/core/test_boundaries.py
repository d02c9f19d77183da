"""Contract of boundary predictors, tested on every variant; each against a naive version."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import binom
from torch import nn
from torch.nn import functional as F

from sumpool.core import boundaries as module
from sumpool.core.boundaries import (
    Boundaries,
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
from sumpool.core.pooling.segments import SegmentsPooler, SegmentsPoolerConfig
from sumpool.settings import kinds
from tests.core.batches import alone, make_tokens

KINDS = kinds("sumpool.core.boundaries")


def build(kind: str) -> SegmentsPooler:
    config = SegmentsPoolerConfig.model_validate({"boundaries": {"kind": kind}})
    return SegmentsPooler(config, nn.Embedding(50, 16)).double()


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_means_over_documents(kind: str) -> None:
    pooler = build(kind).train()
    tokens = make_tokens(37, 64, length=70)
    torch.manual_seed(5)
    together = pooler(replace(tokens, phrases=tokens.positions // 3)).tokens.losses
    single = []
    for number in range(2):
        document = alone(tokens, number)
        torch.manual_seed(5)
        single.append(pooler(replace(document, phrases=document.positions // 3)).tokens.losses)
    for name, loss in together.items():
        assert loss.item() == pytest.approx((single[0][name] + single[1][name]).item() / 2)


EMBEDDING = nn.Embedding(50, 16)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_fixed_segments_end_at_multiples_of_the_size(size: int) -> None:
    ends = FixedBoundariesConfig(size=size).build(EMBEDDING)(make_tokens(10)).ends
    assert ends.nonzero()[:, 1].tolist() == list(range(size - 1, 10, size))


def test_words_and_sentences_end_where_their_index_changes() -> None:
    tokens = replace(
        make_tokens(6), words=torch.tensor([[1, 1, 2, 3, 3, 4]]), sentences=torch.tensor([[0, 0, 0, 0, 2, 2]])
    )
    assert WhitespaceBoundariesConfig().build(EMBEDDING)(tokens).ends.tolist() == [[0, 1, 1, 0, 1, 1]]
    assert SentenceBoundariesConfig().build(EMBEDDING)(tokens).ends.tolist() == [[0, 0, 0, 1, 0, 1]]


def test_the_last_real_token_ends_a_run_whatever_the_padding() -> None:
    mask = torch.tensor([[True, True, False]])
    assert run_ends(torch.tensor([[7, 7, 7]]), mask)[mask].tolist() == [False, True]


def test_no_token_ends_a_segment() -> None:
    tokens = make_tokens(30, 12)
    ends = NoneBoundariesConfig().build(nn.Embedding(50, 16))(tokens).ends
    assert torch.equal(ends, torch.zeros(2, 30, dtype=ends.dtype))


def build_random(rate: float, seed: int) -> Boundaries:
    return RandomBoundariesConfig(rate=rate).build(nn.Embedding(50, 16), seed=seed)


def test_draws_have_their_rate_and_follow_seed_index_and_id() -> None:
    tokens = make_tokens(20000)
    ends = build_random(0.3, 1).eval()(tokens).ends
    assert abs(ends.mean().item() - 0.3) < 0.01
    assert torch.equal(ends, build_random(0.3, 1).eval()(tokens).ends)
    assert not torch.equal(ends, build_random(0.3, 2).eval()(tokens).ends)
    assert not torch.equal(ends, build_random(0.3, 1).eval()(replace(tokens, ids=tokens.ids + 1)).ends)
    assert not torch.equal(build_random(0.3, 1).train()(tokens).ends, build_random(0.3, 1).train()(tokens).ends)


def test_draws_of_a_part_equal_those_of_the_whole() -> None:
    tokens = make_tokens(300)
    whole = uniform_draws(tokens, 7)
    part = {name: getattr(tokens, name)[:, 100:150] for name in ("states", "mask", "ids")}
    torch.testing.assert_close(
        uniform_draws(replace(tokens, **part, first=torch.tensor([100])), 7), whole[:, 100:150], atol=0, rtol=0
    )
    assert abs(torch.corrcoef(torch.stack([whole[0, 1:], whole[0, :-1]]))[0, 1].item()) < 0.2


def build_gumbel(**settings: object) -> GumbelBoundaries:
    return GumbelBoundaries(GumbelBoundariesConfig.model_validate(settings), nn.Embedding(50, 16)).double()


def set_logit(boundaries: GumbelBoundaries, logit: float) -> None:
    """Set the logit of every token to a constant."""
    with torch.no_grad():
        boundaries.predictor.decide.weight.zero_()
        boundaries.predictor.decide.bias.fill_(logit)


def test_the_prior_is_binomial() -> None:
    lengths, counts = [10, 37, 1, 5], [3, 37, 0, 2]
    mask = torch.arange(37)[None] < torch.tensor(lengths)[:, None]
    ends = torch.full((4, 37), 9.0, dtype=torch.float64)  # arbitrary padding
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        ends[row, :length] = (torch.randperm(length) < count).double()
    expected = -sum(
        binom.logpmf(count, length, 0.2) / length for length, count in zip(lengths, counts, strict=True)
    ) / len(lengths)
    assert count_nll(ends, mask, 0.2).item() == pytest.approx(expected)


@pytest.mark.slow
def test_training_samples_from_the_predicted_probabilities() -> None:
    tokens, logit = make_tokens(20000), -2.0
    probability = torch.tensor(logit).sigmoid().item()
    for boundaries in (build_gumbel().train(), build_gumbel(inference="sample").eval()):
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
    mask = torch.arange(5)[None] < torch.tensor([5, 3, 0])[:, None]
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
    boundaries = UnigramBoundaries(UnigramBoundariesConfig(hidden=8), nn.Embedding(50, 16)).double()
    tokens = replace(make_tokens(4), phrases=torch.tensor([[0, 0, 1, 1]]))
    probability = boundaries.predictor(tokens).sigmoid()[0]
    expected = -torch.where(torch.tensor([False, True, False, True]), probability, 1 - probability).log().mean()
    assert boundaries(tokens).losses["boundaries"].item() == pytest.approx(expected.item())


def test_without_phrases_there_is_no_loss_and_no_gradient() -> None:
    boundaries = UnigramBoundaries(UnigramBoundariesConfig(), nn.Embedding(50, 16)).double()
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
    boundaries = EntropyBoundaries(EntropyBoundariesConfig(hidden=8), nn.Embedding(50, 16)).double()
    tokens = make_tokens(12, 1, 7)
    losses = boundaries(tokens).losses
    assert boundaries.language_model is not None
    nll, entropies = boundaries.language_model(tokens.ids)
    expected = (nll[0, :11].mean() + nll[2, :6].mean()) / 3  # a single token has no successor
    assert losses["language_model"].item() == pytest.approx(expected.item())
    logits = boundaries.predictor(tokens)
    per_document = [
        F.binary_cross_entropy_with_logits(logits[row, :real], entropy_spikes(entropies, 2)[row, :real].double()).item()
        for row, real in enumerate((12, 1, 7))
    ]
    assert losses["boundaries"].item() == pytest.approx(sum(per_document) / 3)
    assert boundaries.eval()(tokens).losses == {}
