"""Selections, against naive implementations."""

import torch
from torch.nn import functional as F

from sumpool.core.nn.sentences import Sentences
from sumpool.core.selection.approximate import ApproximateSelection
from tests.core.batches import make_tokens
from tests.core.selection.selecting import DIM, HEADS, SelectionWithEncoder, in_sentences

SIZE = DIM // HEADS


def test_ideal_sums_the_attention_to_the_words_of_a_sentence() -> None:
    selection, tokens = SelectionWithEncoder("ideal").double(), in_sentences(make_tokens(36))
    states = torch.randn(1, 5, DIM, dtype=torch.float64)
    log_weights = selection(states, tokens)
    for head in range(HEADS):
        part = slice(head * SIZE, (head + 1) * SIZE)
        products = selection.query(states[0])[:, part] @ selection.key(tokens.states[0])[:, part].T
        weights = (products / SIZE**0.5).softmax(-1)
        for index, words in enumerate(tokens.sentences[0].unique()):
            expected = weights[:, tokens.sentences[0] == words].sum(-1).log()
            torch.testing.assert_close(log_weights[0, head, :, index], expected, atol=1e-12, rtol=0)


def test_weights_that_underflow_have_finite_logarithms() -> None:
    selection, tokens = SelectionWithEncoder("ideal"), in_sentences(make_tokens(36, 4, dtype=torch.float32))
    log_weights = selection(1e4 * torch.randn(2, 5, DIM), tokens)
    assert (log_weights[0] < -80).any()
    assert log_weights[0].isfinite().all()


def test_model_free_uses_features_instead_of_the_exponential() -> None:
    selection, tokens = SelectionWithEncoder("model_free").double(), in_sentences(make_tokens(36))
    states = torch.randn(1, 5, DIM, dtype=torch.float64)
    log_weights = selection(states, tokens)
    for head in range(HEADS):
        part = slice(head * SIZE, (head + 1) * SIZE)
        query = F.elu(selection.query(states[0])[:, part] / SIZE**0.5) + 1
        products = query @ (F.elu(selection.key(tokens.states[0])[:, part]) + 1).T
        for index, words in enumerate(tokens.sentences[0].unique()):
            expected = (products[:, tokens.sentences[0] == words].sum(-1) / products.sum(-1)).log()
            torch.testing.assert_close(log_weights[0, head, :, index], expected, atol=1e-12, rtol=0)


def test_approximate_splits_heads_before_sentences() -> None:
    selection = ApproximateSelection(DIM, HEADS).double()
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
    selection, tokens = SelectionWithEncoder("random").eval(), make_tokens(100, dtype=torch.float32)
    common = torch.randn(DIM)
    states = common + 0.7 * torch.randn(1, 4000, DIM)
    assert F.cosine_similarity(states[0, 1:], states[0, :-1]).mean() > 0.5
    best = selection(states, tokens)[0, 0].topk(5).indices
    selected = torch.zeros(4000, 20).scatter(1, best, 1.0)
    torch.testing.assert_close(selected.mean(0), torch.full((20,), 0.25), atol=0.05, rtol=0)
    assert abs(float((selected[1:] * selected[:-1]).sum(-1).mean()) - 1.25) < 0.15


def test_random_is_robust_to_rounding() -> None:
    selection, tokens = SelectionWithEncoder("random").eval(), make_tokens(100, dtype=torch.float32)
    states = torch.randn(1, 1000, DIM)
    noisy = selection(states * (1 + 1e-7 * torch.randn_like(states)), tokens)
    torch.testing.assert_close(noisy, selection(states, tokens), atol=2e-5, rtol=0)


def test_random_draws_from_the_generator_in_training() -> None:
    selection, tokens = SelectionWithEncoder("random").train(), make_tokens(100, dtype=torch.float32)
    states = torch.randn(1, 3, DIM)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(selection(states, tokens))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
