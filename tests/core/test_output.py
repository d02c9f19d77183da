"""Contract of output heads, tested on every variant; each against a naive version."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.states import Mixture
from sumpool.core.output import (
    Output,
    OutputConfig,
    PointerOutput,
    PointerOutputConfig,
    Scores,
    TiedOutput,
    TiedOutputConfig,
)
from sumpool.core.pooling.funnel import FunnelPoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import PAD
from tests.core.batches import make_tokens


def project(head: Output, tokens: Tokens) -> Tokens:
    """Apply the head's projection to the states of documents."""
    return tokens.with_states(head.project_source(zero_padding(tokens.states, tokens.mask)))


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
def test_probabilities_sum_to_one_and_agree_with_scores(kind: str) -> None:
    head, tokens = build(kind), make_tokens(37, 5, 0)
    ids, states, history, target = make_input(tokens)
    precomputed = head.precompute(ids, project(head, tokens), tokens, ())
    log_probs = head(states, history, precomputed)
    assert log_probs.shape == (3, 9, VOCAB)
    torch.testing.assert_close(log_probs.logsumexp(-1), torch.zeros(3, 9, dtype=torch.float64), atol=1e-12, rtol=0)
    expected = log_probs.gather(-1, target[..., None]).squeeze(-1)
    scores = head.score(states, history, precomputed, target)
    torch.testing.assert_close(scores.log_prob, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(scores.nll, -expected.sum(), atol=0, rtol=1e-12)
    assert not scores.log_prob.requires_grad


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


def make_head(vocab: int = 40, dim: int = 16) -> PointerOutput:
    embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
    nn.init.normal_(embedding.weight, std=dim**-0.5)
    return PointerOutput(PointerOutputConfig(key=8, preceding=64), embedding).double()


def naive(head: PointerOutput, tokens: Tokens, ids: Tensor, states: Tensor, history: Tensor) -> Tensor:
    """The mixture for document 0, output by output and position by position, in probabilities."""

    def preceding_key(distance: int, position: int) -> Tensor:
        embedded = head.embedding.weight[ids[0, position]] if position >= 0 else torch.zeros(16, dtype=torch.float64)
        projected: Tensor = head.preceding[distance](embedded)
        return projected

    rows = []
    for position in range(states.size(1)):
        logits = []
        for source in range(ids.size(1)):
            logit = head.query(states[0, position]) @ head.key(head.norm(tokens.states[0, source])) / 8**0.5
            for distance in range(2):
                preceding_query = head.preceding[distance](head.embedding.weight[history[0, position, distance]])
                logit = logit + preceding_query @ preceding_key(distance, source - 1 - distance)
            logits.append(logit)
        attention = torch.stack(logits).softmax(0)
        gate = head.gate(states[0, position]).sigmoid()
        row = gate * (states[0, position] @ head.embedding.weight.T).softmax(0)
        for source, weight in enumerate(attention):
            row = row.index_add(0, ids[0, source : source + 1], ((1 - gate) * weight))
        rows.append(row)
    return torch.stack(rows)


@pytest.mark.parametrize("length", [12, 2, 1])
def test_equals_the_mixture_by_hand(length: int) -> None:
    head, tokens = make_head(), make_tokens(length)
    ids = torch.randint(5, 12, (1, length))
    states = torch.randn(1, 4, 16, dtype=torch.float64)
    history = torch.randint(5, 12, (1, 4, 2))
    log_probs = head(states, history, head.precompute(ids, project(head, tokens), tokens, ()))
    torch.testing.assert_close(log_probs[0].exp(), naive(head, tokens, ids, states, history))


def test_the_untrained_head_points_behind_a_generated_bigram() -> None:
    head = make_head(vocab=1000, dim=64)
    ids = torch.randperm(900)[None, :800] + 5
    mask = torch.ones_like(ids, dtype=torch.bool)
    tokens = Tokens.from_source(torch.randn(1, 800, 64, dtype=torch.float64), mask, ids, ids, ids)
    positions = torch.tensor([10, 300, 799])
    history = torch.stack([ids[:, positions - 1], ids[:, positions - 2]], dim=-1)
    attention = head._attend(
        torch.randn(1, 3, 64, dtype=torch.float64), history, head.precompute(ids, project(head, tokens), tokens, ())
    )
    assert attention.argmax(-1).tolist() == [positions.tolist()]


def make_memory_head(head: PointerOutput) -> PointerOutput:
    memory_head = PointerOutput(PointerOutputConfig(key=8, preceding=64, copies="memory"), head.embedding).double()
    memory_head.load_state_dict(head.state_dict())
    return memory_head


def make_mixtures(length: int, *keeps: int) -> list[Callable[[], Mixture]]:
    """Poolings whose states are random sums of three members."""
    mixtures: list[Callable[[], Mixture]] = []
    for keep in keeps:
        members = torch.rand(1, keep, length).topk(3).indices
        weights = torch.rand(1, keep, 3, dtype=torch.float64).softmax(-1)
        mixture = Mixture(members, weights.requires_grad_(), torch.ones(1, keep, dtype=torch.bool))
        mixtures.append(partial(replace, mixture))
        length = keep
    return mixtures


def test_copying_from_the_memory_uses_pooling_weights() -> None:
    head, tokens, memory = make_head(), make_tokens(12), make_tokens(4)
    from_memory, mixtures = make_memory_head(head), make_mixtures(12, 6, 4)
    ids = torch.randint(5, 12, (1, 12))
    states, history = torch.randn(1, 3, 16, dtype=torch.float64), torch.randint(5, 12, (1, 3, 2))
    precomputed = from_memory.precompute(ids, project(head, tokens), memory, mixtures)
    weights = mixtures[1]().matrix(6)[0] @ mixtures[0]().matrix(12)[0]  # (keep, length)
    preceding = head.precompute(ids, project(head, tokens), tokens, ())["key"][0, 8:].T  # (length, 2 * preceding)
    for position, row in enumerate(from_memory(states, history, precomputed)[0].exp()):
        query = torch.cat([head.query(states[0, position]), head._project_preceding(history)[0, position]])
        content = head.key(head.norm(memory.states[0])) / 8**0.5
        attention = (torch.cat([content, weights @ preceding], dim=1) @ query).softmax(0)
        gate = head.gate(states[0, position]).sigmoid()
        expected = gate * (states[0, position] @ head.embedding.weight.T).softmax(0)
        expected = expected.index_add(0, ids[0], (1 - gate) * (attention @ weights))
        torch.testing.assert_close(row, expected)


def test_scores_with_copies_from_the_memory_agree_and_train_pooling_weights() -> None:
    head, tokens, memory = make_memory_head(make_head()), make_tokens(12), make_tokens(4)
    mixtures = make_mixtures(12, 4)
    ids, target = torch.randint(5, 12, (1, 12)), torch.randint(5, 20, (1, 9))
    states, history = torch.randn(1, 9, 16, dtype=torch.float64), torch.randint(5, 12, (1, 9, 2))
    precomputed = head.precompute(ids, project(head, tokens), memory, mixtures)
    scores = head.score(states, history, precomputed, target)
    whole = head(states, history, precomputed).gather(-1, target[..., None])[..., 0]
    torch.testing.assert_close(scores.log_prob, whole)
    scores.nll.backward()
    gradient = mixtures[0]().weights.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient != 0).any(-1).all()


def test_without_a_pooling_the_memory_is_the_source() -> None:
    head, tokens = make_head(), make_tokens(12)
    ids = torch.randint(5, 40, (1, 12))
    heads = (head, make_memory_head(head))
    plain, from_memory = (output.precompute(ids, project(output, tokens), tokens, ()) for output in heads)
    assert plain.keys() == from_memory.keys()
    assert all(torch.equal(plain[name], from_memory[name]) for name in plain)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_equal_those_of_the_whole_distribution(smoothing: float) -> None:
    head, tokens = make_head(), make_tokens(12, 5, 0)
    ids = torch.randint(5, 12, (3, 12)).masked_fill(~tokens.mask, PAD)
    states, history = torch.randn(3, 9, 16, dtype=torch.float64), torch.randint(5, 12, (3, 9, 2))
    states.requires_grad_()
    target = torch.randint(5, 20, (3, 9)).masked_fill(torch.arange(9) > 6, PAD)
    parameters = [states, *head.parameters()]

    precomputed = head.precompute(ids, project(head, tokens), tokens, ())
    generate, copy = head._gate(states, precomputed)
    attention = head._attend(states, history, precomputed).softmax(-1).nan_to_num()
    copied = attention @ F.one_hot(ids, 40).double()  # (batch, target, vocab)
    whole = (generate.exp() * head._vocabulary(states).exp() + copy.exp() * copied).log()
    log_probs = whole.gather(-1, target[..., None]).squeeze(-1)
    expected = ((smoothing - 1) * log_probs - smoothing * head._vocabulary(states).mean(-1))[target != PAD].sum()
    gradients = torch.autograd.grad(expected, parameters)
    scores = head.score(states, history, head.precompute(ids, project(head, tokens), tokens, ()), target, smoothing)
    torch.testing.assert_close(scores.nll, expected, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(torch.autograd.grad(scores.nll, parameters), gradients, atol=1e-12, rtol=1e-9)


VOCAB_TIED, MISSING = 30, (2, 7)


def build_tied() -> TiedOutput:
    """A head with two tokens removed."""
    head = TiedOutput(TiedOutputConfig(bias=True), nn.Embedding(VOCAB_TIED, 16, padding_idx=PAD)).double()
    assert head.bias is not None
    head.bias.normal_()
    head.bias[list(MISSING)] = -torch.inf
    return head


def make_states() -> torch.Tensor:
    return torch.randn(3, 9, 16, dtype=torch.float64, requires_grad=True)


HISTORY = torch.zeros(3, 9, 2, dtype=torch.long)


def test_the_bias_is_added_and_removes_tokens() -> None:
    head, states = build_tied(), make_states()
    assert head.bias is not None
    log_probs = head(states, HISTORY, {})
    assert (log_probs[..., list(MISSING)] == -torch.inf).all()
    remaining = [token for token in range(VOCAB_TIED) if token not in MISSING]
    expected = (states @ head.embedding.weight[remaining].T + head.bias[remaining]).log_softmax(-1)
    torch.testing.assert_close(log_probs[..., remaining], expected)


def test_smoothing_is_uniform_over_remaining_tokens() -> None:
    head, states = build_tied(), make_states()
    target = torch.randint(8, VOCAB_TIED, (3, 9)).masked_fill(torch.arange(9) > 6, PAD)
    scores = head.score(states, HISTORY, {}, target, smoothing=0.1)
    remaining = [token for token in range(VOCAB_TIED) if token not in MISSING]
    uniform = head(states, HISTORY, {})[..., remaining].mean(-1)
    expected = (-0.9 * scores.log_prob - 0.1 * uniform).masked_fill(target == PAD, 0.0).sum()
    torch.testing.assert_close(scores.nll, expected)
    scores.nll.backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert states.grad[:, :7].abs().amin() > 0
    gradient = head.embedding.weight.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient[list(MISSING)] == 0).all()


def test_the_bias_is_saved_and_not_trained() -> None:
    assert "bias" in build_tied().state_dict()
    assert {name for name, _ in build_tied().named_parameters()} == {"embedding.weight"}
    assert "bias" not in TiedOutputConfig().build(nn.Embedding(VOCAB_TIED, 16, padding_idx=PAD)).state_dict()
