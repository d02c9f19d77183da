from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.states import Mixture
from sumpool.core.output import PointerOutput, PointerOutputConfig
from sumpool.core.tokens import Tokens
from sumpool.special_tokens import PAD
from tests.core.batches import make_tokens
from tests.core.output.sources import project


def make_head(vocab: int = 40, dim: int = 16) -> PointerOutput:
    embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
    nn.init.normal_(embedding.weight, std=dim**-0.5)
    return PointerOutput(embedding, PointerOutputConfig(key=8, preceding=64)).double()


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
    memory_head = PointerOutput(head.embedding, PointerOutputConfig(key=8, preceding=64, copies="memory")).double()
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
