from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from sumpool.core.nn.sentences import Sentences, sentence_log_softmax, sum_over_sentences
from sumpool.core.pooling._base import PoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class


def check(sentences: Sentences, memory: Tokens) -> None:
    """Compare with ranges of equal numbers, row by row."""
    for row, (numbers, mask) in enumerate(zip(memory.sentences, memory.mask, strict=True)):
        values, counts = numbers[mask].unique_consecutive(return_counts=True)
        assert sentences.mask[row].sum() == len(values)
        assert torch.equal(sentences.count[row, : len(values)], counts)
        assert torch.equal(sentences.first[row, : len(values)], counts.cumsum(0) - counts)
        assert torch.equal(values[sentences.index[row, mask]], numbers[mask])
        member = sentences.membership(memory.mask, torch.float64)[row]
        assert torch.equal(member.sum(0), sentences.count[row].double())
        assert torch.equal(member.argmax(1)[mask], sentences.index[row, mask])
        assert not member[~mask].any()


def test_sentences_are_ranges_of_equal_numbers(make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(40, 17, 1, 0, length=45)
    numbers = torch.randint(0, 3, tokens.mask.shape).cumsum(1) + torch.tensor([[0], [5], [0], [2]])
    memory = replace(tokens, sentences=numbers)
    sentences = Sentences.find(memory)
    check(sentences, memory)
    garbage = replace(memory, sentences=numbers.masked_fill(~memory.mask, 99))
    again = Sentences.find(garbage)
    for name in ("index", "first", "count"):
        assert torch.equal(getattr(sentences, name), getattr(again, name)), name


def test_batches_without_sentences_have_one_absent_sentence(make_tokens: Callable[..., Tokens]) -> None:
    for length in (0, 4):
        sentences = Sentences.find(make_tokens(0, 0, length=length))
        assert sentences.mask.tolist() == [[False], [False]]


@pytest.mark.parametrize("kind", ["halving", "hard", "funnel"])
def test_sentences_of_a_pooled_memory_have_a_state(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    settings = {"window": 7, "stride": 7} if kind == "funnel" else {"keep": 9}
    config = config_class("sumpool.core.pooling", kind).model_validate(settings)
    assert isinstance(config, PoolerConfig)
    pooler = config.build(nn.Embedding(50, 16)).double().eval()
    tokens = make_tokens(60, 31, 4, length=70)
    pooled = pooler(tokens).tokens
    sentences = Sentences.find(pooled)
    check(sentences, pooled)
    assert sentences.mask[0].sum() < len(tokens.sentences[0].unique())  # some have none left
    # A pooled vector belongs to the sentence of its heaviest source token.
    of_source = tokens.sentences.gather(1, pooled.origin.masked_fill(~pooled.mask, 0))
    assert torch.equal(of_source[pooled.mask], pooled.sentences[pooled.mask])


def test_log_softmax_is_over_existing_sentences() -> None:
    scores = torch.randn(3, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    exists = torch.tensor([[True] * 5, [True, True, False, False, False], [False] * 5])
    log_weights = sentence_log_softmax(scores, exists)
    torch.testing.assert_close(log_weights[0], scores[0].log_softmax(-1))
    torch.testing.assert_close(log_weights[1, ..., :2], scores[1, ..., :2].log_softmax(-1))
    assert (log_weights[1, ..., 2:] == -torch.inf).all()
    assert (log_weights[2] == -torch.inf).all()
    log_weights.exp().square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert not scores.grad[2].any()


def test_weights_of_words_are_summed(make_tokens: Callable[..., Tokens]) -> None:
    memory = make_tokens(23, 6, 0, length=25)
    sentences = Sentences.find(memory)
    scores = torch.randn(3, 2, 4, 25, dtype=torch.float64, requires_grad=True)
    log_weights = sum_over_sentences(scores, memory.mask, sentences.membership(memory.mask, torch.float64))
    for row, real in ((0, 23), (1, 6)):
        weights = scores[row, ..., :real].softmax(-1)
        for index in range(int(sentences.mask[row].sum())):
            expected = weights[..., memory.sentences[row, :real] == index].sum(-1).log()
            torch.testing.assert_close(log_weights[row, ..., index], expected)
    assert torch.equal(log_weights > -torch.inf, sentences.mask[:, None, None].expand_as(log_weights))
    log_weights.exp().square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
