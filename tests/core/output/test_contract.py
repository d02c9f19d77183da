"""Contract of output heads, tested on every variant in the folder."""

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.output import Output, OutputConfig, Scores
from sumpool.core.pooling.funnel import FunnelPoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import PAD
from tests.core.batches import alone, make_tokens
from tests.core.output.sources import project

KINDS = kinds("sumpool.core.output")
VOCAB = 40


def build(kind: str) -> Output:
    config = config_class("sumpool.core.output", kind)()
    assert isinstance(config, OutputConfig)
    return config.build(nn.Embedding(VOCAB, 16, padding_idx=PAD)).double()


def make_input(tokens: Tokens, target: int = 9) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Source ids, decoder states, history and references of the documents."""
    batch, length = tokens.mask.shape
    ids = torch.randint(5, VOCAB, (batch, length)).masked_fill(~tokens.mask, PAD)
    states = torch.randn(batch, target, 16, dtype=torch.float64)
    return ids, states, torch.randint(5, VOCAB, (batch, target, 2)), torch.randint(5, VOCAB, (batch, target))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_sum_to_one(kind: str) -> None:
    head, tokens = build(kind), make_tokens(37, 5, 0)
    ids, states, history, _ = make_input(tokens)
    log_probs = head(states, history, head.precompute(ids, project(head, tokens), tokens, ()))
    assert log_probs.shape == (3, 9, VOCAB)
    torch.testing.assert_close(log_probs.logsumexp(-1), torch.zeros(3, 9, dtype=torch.float64), atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_score_agrees_with_the_whole_distribution(kind: str) -> None:
    head, tokens = build(kind), make_tokens(37, 5, 0)
    ids, states, history, target = make_input(tokens)
    precomputed = head.precompute(ids, project(head, tokens), tokens, ())
    expected = head(states, history, precomputed).gather(-1, target[..., None]).squeeze(-1)
    scores = head.score(states, history, precomputed, target)
    torch.testing.assert_close(scores.log_prob, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(scores.nll, -expected.sum(), atol=0, rtol=1e-12)
    assert not scores.log_prob.requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_batch_mates_do_not_change_scores(kind: str) -> None:
    head, tokens = build(kind), make_tokens(37, 5, 20, pad=torch.nan)
    ids, states, history, target = make_input(tokens)
    scores = head.score(states, history, head.precompute(ids, project(head, tokens), tokens, ()), target)
    for document, length in enumerate([37, 5, 20]):
        row = slice(document, document + 1)
        single_tokens = alone(tokens, document)
        precomputed = head.precompute(ids[row, :length], project(head, single_tokens), single_tokens, ())
        single = head.score(states[row], history[row], precomputed, target[row])
        torch.testing.assert_close(scores.log_prob[row], single.log_prob, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_finite_gradient(kind: str) -> None:
    head, tokens = build(kind), make_tokens(37, 5, 0)
    ids, states, history, target = make_input(tokens)
    scores = head.score(states, history, head.precompute(ids, project(head, tokens), tokens, ()), target)
    scores.nll.backward()
    for name, parameter in head.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("copies", ["source", "memory"])
@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_agrees_with_float64(kind: str, copies: str, half_precision: torch.dtype) -> None:
    settings = {"copies": copies} if kind == "pointer" else {}
    config = config_class("sumpool.core.output", kind).model_validate(settings)
    assert isinstance(config, OutputConfig)
    head, tokens = config.build(nn.Embedding(VOCAB, 16, padding_idx=PAD)), make_tokens(20, 5, 0)
    nn.init.normal_(head.get_parameter("embedding.weight"), std=0.25)
    ids, states, history, target = make_input(tokens)

    def run(dtype: torch.dtype) -> tuple[Tensor, Scores, Tensor | None]:
        head.to(dtype)
        source = tokens.with_states(tokens.states.to(dtype))
        memory = FunnelPoolerConfig(window=3, stride=2).build(nn.Embedding(VOCAB, 16))(source)
        precomputed = head.precompute(ids, project(head, source), memory.tokens, [memory.mixture])
        inputs = states.to(dtype), history, precomputed
        return head(*inputs), head.score(*inputs, target, 0.1), head.copy_posterior(*inputs, target)

    with torch.autocast("cpu", enabled=False):
        log_probs, _, posterior = run(torch.float64)
    half_log_probs, half_scores, half_posterior = run(half_precision)
    assert half_log_probs.dtype is half_scores.log_prob.dtype is torch.float32
    torch.testing.assert_close(half_log_probs.exp().double(), log_probs.exp(), atol=0.02, rtol=0)
    gathered = half_log_probs.gather(-1, target[..., None]).squeeze(-1)
    torch.testing.assert_close(half_scores.log_prob.exp(), gathered.exp(), atol=0.005, rtol=0)
    if posterior is not None and half_posterior is not None:
        torch.testing.assert_close(half_posterior.double(), posterior, atol=0.05, rtol=0)
    half_scores.nll.backward()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters() if parameter.grad is not None)
