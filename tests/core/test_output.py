"""Contract of output heads, tested on every variant; each against a naive version."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn

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


def project(head: Output, tokens: Tokens, ids: Tensor) -> Tokens:
    """Apply the head's projection to the states of documents with other token ids."""
    return replace(tokens, states=head.project_source(zero_padding(tokens.states, tokens.mask)), ids=ids)


VOCAB = 40
every_case = pytest.mark.parametrize(
    ("kind", "settings"), [*((kind, {}) for kind in kinds("sumpool.core.output")), ("pointer", {"copies": "memory"})]
)


def build(kind: str, settings: dict[str, str]) -> Output:
    config = config_class("sumpool.core.output", kind).model_validate(settings)
    assert isinstance(config, OutputConfig)
    return config.build(nn.Embedding(VOCAB, 16, padding_idx=PAD)).double()


def make_input(tokens: Tokens) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Source ids, of which some occur twice, decoder states, history and references of the documents."""
    batch, length = tokens.mask.shape
    ids = torch.randint(5, 20, (batch, length)).masked_fill(~tokens.mask, PAD)
    states = torch.randn(batch, 9, 16, dtype=torch.float64)
    return ids, states, torch.randint(5, 20, (batch, 9, 2)), torch.randint(5, 20, (batch, 9))


def precompute_pooled(head: Output, ids: Tensor, tokens: Tokens) -> dict[str, Tensor]:
    """Precompute with a pooling of overlapping windows between source and memory."""
    memory = FunnelPoolerConfig(window=3, stride=2).build(nn.Embedding(VOCAB, 16))(tokens)
    return head.precompute(project(head, tokens, ids), memory.tokens, [memory.mixture])


@every_case
def test_probabilities_sum_to_one_and_agree_with_scores(kind: str, settings: dict[str, str]) -> None:
    head, tokens = build(kind, settings), make_tokens(37, 5, 0)
    ids, states, history, target = make_input(tokens)
    precomputed = precompute_pooled(head, ids, tokens)
    log_probs = head(states, history, precomputed)
    assert log_probs.shape == (3, 9, VOCAB)
    torch.testing.assert_close(log_probs.logsumexp(-1), torch.zeros(3, 9, dtype=torch.float64), atol=1e-12, rtol=0)
    expected = log_probs.gather(-1, target[..., None]).squeeze(-1)
    scores = head.score(states, history, precomputed, target)
    torch.testing.assert_close(scores.log_prob, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(scores.nll, -expected.sum(), atol=0, rtol=1e-12)
    assert not scores.log_prob.requires_grad
    assert scores.distribution is not None
    torch.testing.assert_close(scores.distribution(slice(2, 5)), log_probs[:, 2:5], atol=1e-12, rtol=0)


@every_case
def test_half_precision_agrees_with_float64(kind: str, settings: dict[str, str], half_precision: torch.dtype) -> None:
    head, tokens = build(kind, settings), make_tokens(20, 5, 0)
    nn.init.normal_(head.get_parameter("embedding.weight"), std=0.25)
    ids, states, history, target = make_input(tokens)

    def run(dtype: torch.dtype) -> tuple[Tensor, Scores, Tensor | None]:
        head.to(dtype)
        precomputed = precompute_pooled(head, ids, tokens.with_states(tokens.states.to(dtype)))
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


def naive(head: PointerOutput, states: Tensor, history: Tensor, ids: Tensor, keys: Tensor, weights: Tensor) -> Tensor:
    """The mixture for one document, output by output, in probabilities.

    Args:
        head: The head.
        states: (target, dim).
        history: (target, 2).
        ids: (length,).
        keys: (keys, dim), states that the pointer attends to.
        weights: (keys, length), weights of the source tokens in them.
    """
    embedding = head.embedding.weight
    before = [torch.cat([torch.zeros(distance, 16).double(), embedding[ids]])[: len(ids)] for distance in (1, 2)]
    preceding = torch.cat([part(embedded) for part, embedded in zip(head.preceding, before, strict=True)], dim=1)
    content = head.key(head.norm(keys)) / 8**0.5
    rows = []
    for state, last in zip(states, history, strict=True):
        matched = torch.cat([part(embedding[token]) for part, token in zip(head.preceding, last, strict=True)])
        attention = (content @ head.query(state) + weights @ preceding @ matched).softmax(0)
        gate = head.gate(state).sigmoid()
        generated = gate * (state @ embedding.T).softmax(0)
        rows.append(generated.index_add(0, ids, (1 - gate) * (attention @ weights)))
    return torch.stack(rows)


@pytest.mark.parametrize("length", [12, 2, 1])
def test_equals_the_mixture_by_hand(length: int) -> None:
    head, tokens = make_head(), make_tokens(length)
    ids, states, history, _ = make_input(tokens)
    log_probs = head(states, history, head.precompute(project(head, tokens, ids), tokens, ()))
    expected = naive(head, states[0], history[0], ids[0], tokens.states[0], torch.eye(length).double())
    torch.testing.assert_close(log_probs[0].exp(), expected)
    single, tokens = head.float(), tokens.with_states(tokens.states.float())  # where there are compiled kernels
    log_probs = single(states.float(), history, single.precompute(project(single, tokens, ids), tokens, ()))
    torch.testing.assert_close(log_probs[0].exp(), expected.float())


def test_the_untrained_head_points_behind_a_generated_bigram() -> None:
    head = make_head(vocab=1000, dim=64)
    ids = torch.randperm(900)[None, :800] + 5
    mask = torch.ones_like(ids, dtype=torch.bool)
    tokens = Tokens.from_source(torch.randn(1, 800, 64, dtype=torch.float64), mask, ids, ids, ids)
    positions = torch.tensor([10, 300, 799])
    history = torch.stack([ids[:, positions - 1], ids[:, positions - 2]], dim=-1)
    query = head._query(torch.randn(1, 3, 64, dtype=torch.float64), history)
    attention = head._attend(query, head.precompute(project(head, tokens, ids), tokens, ()))
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
    head, tokens, memory = make_memory_head(make_head()), make_tokens(12), make_tokens(4)
    ids, states, history, _ = make_input(tokens)
    mixtures = make_mixtures(12, 6, 4)
    log_probs = head(states, history, head.precompute(project(head, tokens, ids), memory, mixtures))
    weights = mixtures[1]().matrix(6)[0] @ mixtures[0]().matrix(12)[0]  # (keep, length)
    expected = naive(head, states[0], history[0], ids[0], memory.states[0], weights)
    torch.testing.assert_close(log_probs[0].exp(), expected)


def test_scores_of_copies_from_the_memory_train_pooling_weights() -> None:
    head, tokens, mixtures = make_memory_head(make_head()), make_tokens(12), make_mixtures(12, 4)
    ids, states, history, target = make_input(tokens)
    precomputed = head.precompute(project(head, tokens, ids), make_tokens(4), mixtures)
    head.score(states, history, precomputed, target).nll.backward()
    gradient = mixtures[0]().weights.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient != 0).any(-1).all()


def test_without_a_pooling_the_memory_is_the_source() -> None:
    head, tokens = make_head(), make_tokens(12)
    source = project(head, tokens, torch.randint(5, 40, (1, 12)))
    plain, from_memory = (output.precompute(source, tokens, ()) for output in (head, make_memory_head(head)))
    torch.testing.assert_close(plain, from_memory, atol=0, rtol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_equal_those_of_the_whole_distribution(smoothing: float) -> None:
    head, tokens = make_head(), make_tokens(12, 5, 0)
    ids, states, history, target = make_input(tokens)
    target = target.masked_fill(torch.arange(9) > 6, PAD)
    parameters = [states.requires_grad_(), *head.parameters()]
    scores = head.score(states, history, head.precompute(project(head, tokens, ids), tokens, ()), target, smoothing)
    assert scores.distribution is not None
    log_probs = scores.distribution(slice(None)).gather(-1, target[..., None]).squeeze(-1)
    uniform = head.vocabulary(states).log_softmax(-1).mean(-1)
    expected = ((smoothing - 1) * log_probs - smoothing * uniform)[target != PAD].sum()
    torch.testing.assert_close(scores.nll, expected, atol=1e-12, rtol=1e-12)
    gradients = (torch.autograd.grad(loss, parameters, retain_graph=True) for loss in (scores.nll, expected))
    torch.testing.assert_close(*gradients, atol=1e-12, rtol=1e-9)


MISSING = [2, 7]
REMAINING = [token for token in range(VOCAB) if token not in MISSING]


def build_tied() -> TiedOutput:
    """A head with two tokens removed."""
    head = TiedOutput(TiedOutputConfig(bias=True), nn.Embedding(VOCAB, 16, padding_idx=PAD)).double()
    assert head.bias is not None
    head.bias.normal_()
    head.bias[MISSING] = -torch.inf
    return head


def test_the_bias_is_added_and_removes_tokens_also_from_smoothing() -> None:
    head, states = build_tied(), torch.randn(3, 9, 16, dtype=torch.float64, requires_grad=True)
    history, target = torch.zeros(3, 9, 2, dtype=torch.long), torch.randint(8, VOCAB, (3, 9))
    target = target.masked_fill(torch.arange(9) > 6, PAD)
    assert head.bias is not None
    log_probs = head(states, history, {})
    assert (log_probs[..., MISSING] == -torch.inf).all()
    expected = (states @ head.embedding.weight[REMAINING].T + head.bias[REMAINING]).log_softmax(-1)
    torch.testing.assert_close(log_probs[..., REMAINING], expected)
    scores = head.score(states, history, {}, target, smoothing=0.1)
    losses = -0.9 * scores.log_prob - 0.1 * expected.mean(-1)
    torch.testing.assert_close(scores.nll, losses.masked_fill(target == PAD, 0.0).sum())
    scores.nll.backward()
    gradient = head.embedding.weight.grad
    assert states.grad is not None
    assert gradient is not None
    assert states.grad.isfinite().all()
    assert states.grad[:, :7].abs().amin() > 0
    assert gradient.isfinite().all()
    assert not gradient[MISSING].any()


def test_the_bias_is_saved_and_not_trained() -> None:
    assert "bias" in build_tied().state_dict()
    assert {name for name, _ in build_tied().named_parameters()} == {"embedding.weight"}
    assert "bias" not in TiedOutputConfig().build(nn.Embedding(VOCAB, 16, padding_idx=PAD)).state_dict()
