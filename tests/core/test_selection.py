"""Contract of selections, tested on every variant as a cross-attention calls it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.sentences import Sentences
from sumpool.core.selection import ApproximateSelection, ApproximateSelectionConfig
from sumpool.settings import kinds
from tests.core.batches import in_sentences, make_tokens
from tests.core.test_families import DIM, HEADS, Variant

select = partial(Variant, "selection", settings={})
"""A selection with its sentence encoder and the projections of the word attention."""
KINDS = kinds("sumpool.core.selection")


@pytest.mark.parametrize("kind", KINDS)
def test_weights_sum_to_one_over_existing_sentences(kind: str) -> None:
    tokens = in_sentences(make_tokens(64, 300, 1, 0))
    exists = Sentences.find(tokens).mask
    for training, scale in product((True, False), (1.0, 1e4)):
        states = scale * torch.randn(4, 6, DIM, dtype=torch.float64)
        log_weights = select(kind).double().train(training).log_weights(states, tokens)
        assert log_weights.shape == (4, HEADS, 6, exists.size(1))
        assert not log_weights.isnan().any()
        assert torch.equal(log_weights > -torch.inf, exists[:, None, None].expand_as(log_weights))
        total = exists.any(1).double()[:, None, None].expand(log_weights.shape[:3])
        torch.testing.assert_close(log_weights.exp().sum(-1), total, atol=1e-12, rtol=0)
        with torch.autocast("cpu", torch.bfloat16):
            single = select(kind).train(training).log_weights(states.float(), tokens.with_states(tokens.states.float()))
        assert single.dtype is torch.float32
        torch.testing.assert_close(single.exp().sum(-1).double(), total, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "random"])
def test_permuted_sentences_have_permuted_weights(kind: str) -> None:
    selection = select(kind).double().eval()
    tokens = in_sentences(make_tokens(66))
    sentences = Sentences.find(tokens)
    order = torch.randperm(sentences.count.size(1))
    runs = [torch.arange(66)[sentences.index[0] == index] for index in order.tolist()]
    renumbered = torch.cat([torch.full((len(run),), index) for index, run in enumerate(runs)])
    permuted = replace(tokens, states=tokens.states[:, torch.cat(runs)], sentences=renumbered[None])
    states = torch.randn(1, 6, DIM, dtype=torch.float64)
    log_weights, expected = selection.log_weights(states, permuted), selection.log_weights(states, tokens)[..., order]
    torch.testing.assert_close(log_weights, expected, atol=1e-12, rtol=0)
    assert expected[0].std(-1).min() > 1e-4  # sentences are told apart, by every head


SIZE = DIM // HEADS


@pytest.mark.parametrize(
    ("kind", "weigh"),
    [
        ("ideal", lambda query, key: (query @ key.T / SIZE**0.5).exp()),
        ("model_free", lambda query, key: (F.elu(query / SIZE**0.5) + 1) @ (F.elu(key) + 1).T),
    ],
)
def test_weights_of_the_words_of_a_sentence_are_summed(kind: str, weigh: Callable[[Tensor, Tensor], Tensor]) -> None:
    selection, tokens = select(kind).double(), in_sentences(make_tokens(36))
    states = torch.randn(1, 5, DIM, dtype=torch.float64)
    log_weights = selection.log_weights(states, tokens)
    of_key, of_query = selection.around
    for head in range(HEADS):
        part = slice(head * SIZE, (head + 1) * SIZE)
        weights = weigh(of_query(states[0])[:, part], of_key(tokens.states[0])[:, part])
        for index, words in enumerate(tokens.sentences[0].unique()):
            expected = (weights[:, tokens.sentences[0] == words].sum(-1) / weights.sum(-1)).log()
            torch.testing.assert_close(log_weights[0, head, :, index], expected, atol=1e-12, rtol=0)


def test_approximate_splits_heads_before_sentences() -> None:
    selection = ApproximateSelection(ApproximateSelectionConfig(), DIM, HEADS).double()
    sentences = Sentences(torch.arange(6)[None], torch.arange(6)[None], torch.ones(1, 6, dtype=torch.long))
    vectors, states = torch.randn(1, 6, DIM, dtype=torch.float64), torch.randn(1, 5, DIM, dtype=torch.float64)
    precomputed = selection.precompute(torch.empty(0), torch.ones(1, 6, dtype=torch.bool), sentences, vectors)
    log_weights = selection(states, torch.empty(0), precomputed)
    for head in range(HEADS):
        part = slice(head * SIZE, (head + 1) * SIZE)
        products = selection.query(states[0])[:, part] @ selection.key(vectors[0])[:, part].T
        expected = (products / SIZE**0.5).log_softmax(-1)
        torch.testing.assert_close(log_weights[0, head], expected, atol=1e-12, rtol=0)


def test_random_selects_every_sentence_equally_often() -> None:
    """Similar states select independently: 5 of 20 have 1.25 in common on average."""
    selection, tokens = select("random").eval(), make_tokens(100, dtype=torch.float32)
    common = torch.randn(DIM)
    states = common + 0.7 * torch.randn(1, 4000, DIM)
    assert F.cosine_similarity(states[0, 1:], states[0, :-1]).mean() > 0.5
    best = selection.log_weights(states, tokens)[0, 0].topk(5).indices
    selected = torch.zeros(4000, 20).scatter(1, best, 1.0)
    torch.testing.assert_close(selected.mean(0), torch.full((20,), 0.25), atol=0.05, rtol=0)
    assert abs(float((selected[1:] * selected[:-1]).sum(-1).mean()) - 1.25) < 0.15


def test_random_is_robust_to_rounding() -> None:
    selection, tokens = select("random").eval(), make_tokens(100, dtype=torch.float32)
    states = torch.randn(1, 1000, DIM)
    noisy = selection.log_weights(states * (1 + 1e-7 * torch.randn_like(states)), tokens)
    torch.testing.assert_close(noisy, selection.log_weights(states, tokens), atol=2e-5, rtol=0)


def test_random_draws_from_the_generator_in_training() -> None:
    selection, tokens = select("random").train(), make_tokens(100, dtype=torch.float32)
    states = torch.randn(1, 3, DIM)
    torch.manual_seed(1)
    first = selection.log_weights(states, tokens)
    assert not torch.equal(selection.log_weights(states, tokens), first)
    torch.manual_seed(1)
    assert torch.equal(selection.log_weights(states, tokens), first)
