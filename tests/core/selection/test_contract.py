"""Contract of selections, tested on every variant in the folder."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from sumpool.core.nn.sentences import Sentences
from sumpool.settings import kinds
from tests.core.batches import alone, make_tokens
from tests.core.selection.selecting import DIM, HEADS, SelectionWithEncoder, in_sentences

KINDS = kinds("sumpool.core.selection")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_content_kind = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "random"])


@every_kind
@pytest.mark.parametrize("lengths", [(1, 37), (64, 300, 3, 0)])
def test_padding_and_batch_mates_do_not_change_results(kind: str, lengths: tuple[int, ...]) -> None:
    selection = SelectionWithEncoder(kind).double().eval()
    together = in_sentences(make_tokens(*lengths))
    poisoned = in_sentences(make_tokens(*lengths, length=max(lengths) + 50, pad=torch.nan))
    states = torch.randn(len(lengths), 6, DIM, dtype=torch.float64)
    for document in range(len(lengths)):
        single = alone(together, document)
        exists = Sentences.find(single).mask[0]
        expected = selection(states[document : document + 1], single)[0, ..., exists]
        for tokens in (together, poisoned):
            exists = Sentences.find(tokens).mask[document]
            log_weights = selection(states, tokens)[document]
            torch.testing.assert_close(log_weights[..., exists], expected, atol=1e-12, rtol=0)
            assert (log_weights[..., ~exists] == -torch.inf).all()


@every_kind
def test_weights_sum_to_one_over_existing_sentences(kind: str) -> None:
    tokens = in_sentences(make_tokens(64, 300, 1, 0))
    exists = Sentences.find(tokens).mask
    for training, scale in product((True, False), (1.0, 1e4)):
        states = scale * torch.randn(4, 6, DIM, dtype=torch.float64)
        log_weights = SelectionWithEncoder(kind).double().train(training)(states, tokens)
        assert log_weights.shape == (4, HEADS, 6, exists.size(1))
        assert not log_weights.isnan().any()
        assert torch.equal(log_weights > -torch.inf, exists[:, None, None].expand_as(log_weights))
        total = exists.any(1).double()[:, None, None].expand(log_weights.shape[:3])
        torch.testing.assert_close(log_weights.exp().sum(-1), total, atol=1e-12, rtol=0)


@every_kind
def test_nan_in_the_padding_changes_no_bit(kind: str) -> None:
    selection = SelectionWithEncoder(kind).eval()
    states = torch.randn(2, 6, DIM)
    zero, poisoned = (in_sentences(make_tokens(40, 7, pad=pad, dtype=torch.float32)) for pad in (0.0, torch.nan))
    assert torch.equal(selection(states, zero), selection(states, poisoned))


@every_kind
def test_queries_are_independent(kind: str) -> None:
    selection = SelectionWithEncoder(kind).double().eval()
    tokens = in_sentences(make_tokens(40, 22))
    states = torch.randn(2, 6, DIM, dtype=torch.float64)
    log_weights = selection(states, tokens)
    for position in range(6):
        one = selection(states[:, position : position + 1], tokens)
        torch.testing.assert_close(log_weights[:, :, position : position + 1], one, atol=1e-12, rtol=0)


@every_content_kind
def test_permuted_sentences_have_permuted_weights(kind: str) -> None:
    selection = SelectionWithEncoder(kind).double().eval()
    tokens = in_sentences(make_tokens(66))
    sentences = Sentences.find(tokens)
    order = torch.randperm(sentences.count.size(1))
    runs = [torch.arange(66)[sentences.index[0] == index] for index in order.tolist()]
    renumbered = torch.cat([torch.full((len(run),), index) for index, run in enumerate(runs)])
    permuted = replace(tokens, states=tokens.states[:, torch.cat(runs)], sentences=renumbered[None])
    states = torch.randn(1, 6, DIM, dtype=torch.float64)
    log_weights, expected = selection(states, permuted), selection(states, tokens)[..., order]
    torch.testing.assert_close(log_weights, expected, atol=1e-12, rtol=0)
    assert expected[0].std(-1).min() > 1e-4  # sentences are told apart, by every head


@every_kind
def test_every_parameter_gets_a_finite_gradient(kind: str) -> None:
    selection = SelectionWithEncoder(kind).double().train()
    tokens = in_sentences(make_tokens(40, 13, 0))
    log_weights = selection(torch.randn(3, 6, DIM, dtype=torch.float64), tokens)
    parameters = [*selection.selection.named_parameters()]
    if selection.encoder:
        parameters += selection.encoder.named_parameters()
    if parameters or log_weights.requires_grad:
        log_weights.masked_fill(log_weights == -torch.inf, 0.0).square().sum().backward()
    for name, parameter in selection.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    for name, parameter in parameters:
        assert parameter.grad is not None, name


@every_kind
def test_half_precision_gives_weights_in_single_precision(kind: str) -> None:
    tokens = in_sentences(make_tokens(40, 13, dtype=torch.float32))
    with torch.autocast("cpu", torch.bfloat16):
        log_weights = SelectionWithEncoder(kind).eval()(torch.randn(2, 6, DIM), tokens)
    assert log_weights.dtype is torch.float32
    torch.testing.assert_close(log_weights.exp().sum(-1), torch.ones(2, HEADS, 6), atol=1e-6, rtol=0)
