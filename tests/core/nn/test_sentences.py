"""Attention to selected groups of words, against one query at a time."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.nn import sentences
from sumpool.core.nn.sentences import (
    Sentences,
    attend_to_groups,
    divergence,
    entropy,
    mean_over_documents,
    sentence_log_softmax,
    sharpen,
)
from tests.core.batches import make_tokens, mask_of


def test_sentences_are_ranges_of_equal_numbers() -> None:
    tokens = make_tokens(40, 17, 1, 0, length=45)
    numbers = torch.randint(0, 3, tokens.mask.shape).cumsum(1) + torch.tensor([[0], [5], [0], [2]])
    memory = replace(tokens, sentences=numbers)
    sentences = Sentences.find(memory)
    for row, mask in enumerate(memory.mask):
        values, counts = numbers[row, mask].unique_consecutive(return_counts=True)
        assert sentences.mask[row].sum() == len(values)
        assert torch.equal(sentences.count[row, : len(values)], counts)
        assert torch.equal(sentences.first[row, : len(values)], counts.cumsum(0) - counts)
        assert torch.equal(values[sentences.index[row, mask]], numbers[row, mask])
        member = sentences.membership(memory.mask, torch.float64)[row]
        assert torch.equal(member.sum(0), sentences.count[row].double())
        assert torch.equal(member.argmax(1)[mask], sentences.index[row, mask])
        assert not member[~mask].any()
    again = Sentences.find(replace(memory, sentences=numbers.masked_fill(~memory.mask, 99)))
    for name in ("index", "first", "count"):
        assert torch.equal(getattr(sentences, name), getattr(again, name)), name


def test_batches_without_sentences_have_one_absent_sentence() -> None:
    for length in (0, 4):
        sentences = Sentences.find(make_tokens(0, 0, length=length))
        assert sentences.mask.tolist() == [[False], [False]]


EXISTS = mask_of(5, 1, 0)


def random_log_weights() -> Tensor:
    return sentence_log_softmax(torch.randn(3, 2, 4, 5, dtype=torch.float64), EXISTS)


def test_entropy_and_divergence_equal_those_of_torch() -> None:
    left, right = random_log_weights(), random_log_weights()
    whole, other = (torch.distributions.Categorical(logits=part[0]) for part in (left, right))
    torch.testing.assert_close(entropy(left)[0], whole.entropy())
    torch.testing.assert_close(divergence(left, right)[0], torch.distributions.kl_divergence(whole, other))
    for values in (entropy(left), divergence(left, right)):
        assert torch.equal(values[1:], torch.zeros_like(values[1:]))


def test_sharpening_is_a_power() -> None:
    left = random_log_weights()
    sharp = sharpen(left, 0.5, EXISTS)
    expected = left[0].exp() ** 2
    torch.testing.assert_close(sharp[0].exp(), expected / expected.sum(-1, keepdim=True))
    torch.testing.assert_close(sharpen(left, 1.0, EXISTS), left)
    assert torch.equal(sharp == -torch.inf, left == -torch.inf)


def test_gradients_are_finite_without_sentences() -> None:
    scores = torch.randn(2, 3, 2, 4, 5, requires_grad=True)
    left, right = (sentence_log_softmax(part, EXISTS) for part in scores)
    (divergence(sharpen(left, 0.5, EXISTS), right) + entropy(left)).sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert torch.equal(scores.grad[..., ~EXISTS[1]][:, 1:], torch.zeros(2, 2, 2, 4, 4))


def test_the_mean_is_over_real_tokens_then_documents() -> None:
    values = torch.randn(3, 2, 4)
    mask = mask_of(2, 4, 0)
    expected = (values[0, :, :2].mean() + values[1].mean()) / 3
    torch.testing.assert_close(mean_over_documents(values.masked_fill(~mask[:, None], torch.nan), mask), expected)
    torch.testing.assert_close(mean_over_documents(values, None), values.mean())


BATCH, HEADS, QUERIES, SIZE = 3, 2, 4, 5


def naive(query: Tensor, words: Tensor, mask: Tensor, group: Tensor, selected: Tensor) -> Tensor:
    key, value = (part.unflatten(2, (HEADS, SIZE)).transpose(1, 2) for part in words.chunk(2, dim=-1))
    mixed = torch.zeros_like(query)
    for document, row in torch.cartesian_prod(torch.arange(BATCH), torch.arange(QUERIES)).tolist():
        visible = mask[document] & selected[document, row][group[document]]
        if visible.any():
            scores = query[document, :, row, None] @ key[document, :, visible].mT / SIZE**0.5
            mixed[document, :, row] = (scores.softmax(-1) @ value[document, :, visible]).squeeze(1)
    return mixed


@pytest.mark.parametrize("groups", [0, 1, 3, 12])
@pytest.mark.parametrize("copied", [1, 2**22])
def test_queries_attend_to_their_selected_groups(groups: int, copied: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "MAX_COPIED_NUMBERS", copied)
    query = torch.randn(BATCH, HEADS, QUERIES, SIZE, dtype=torch.float64)
    words = torch.randn(BATCH, 97, 2 * HEADS * SIZE, dtype=torch.float64)
    mask = mask_of(97, 50, 0)
    group = torch.randint(12, (BATCH, 97))
    selected = torch.rand(BATCH, 1, 12).argsort(-1).argsort(-1) < groups
    selected = selected & (torch.rand(BATCH, QUERIES, 12) < 0.8)
    actual = attend_to_groups(query, words, mask, group, selected)
    torch.testing.assert_close(actual, naive(query, words, mask, group, selected), atol=1e-12, rtol=0)


def test_documents_without_words_give_zeros() -> None:
    empty = torch.zeros(2, 0, dtype=torch.long)
    selected = torch.ones(2, QUERIES, 1, dtype=torch.bool)
    query = torch.randn(2, HEADS, QUERIES, SIZE)
    actual = attend_to_groups(query, torch.zeros(2, 0, 2 * HEADS * SIZE), empty.bool(), empty, selected)
    assert torch.equal(actual, torch.zeros_like(query))
