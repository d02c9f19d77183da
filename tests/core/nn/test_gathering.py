"""Attention to some groups of words, against one query at a time."""

import pytest
import torch
from torch import Tensor

from sumpool.core.nn import gathering
from sumpool.core.nn.gathering import attend_to_groups, pack

BATCH, HEADS, QUERIES, SIZE = 3, 2, 4, 5


def naive(query: Tensor, words: Tensor, mask: Tensor, group: Tensor, chosen: Tensor) -> Tensor:
    key, value = (part.unflatten(2, (HEADS, SIZE)).transpose(1, 2) for part in words.chunk(2, dim=-1))
    mixed = torch.zeros_like(query)
    for document, asking in torch.cartesian_prod(torch.arange(BATCH), torch.arange(QUERIES)).tolist():
        seen = mask[document] & chosen[document, asking][group[document]]
        if seen.any():
            scores = query[document, :, asking, None] @ key[document, :, seen].mT / SIZE**0.5
            mixed[document, :, asking] = (scores.softmax(-1) @ value[document, :, seen]).squeeze(1)
    return mixed


@pytest.mark.parametrize("groups", [0, 1, 3, 12])
@pytest.mark.parametrize("at_once", [1, 2**22])
def test_it_is_attention_of_each_query_to_its_own(groups: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_AT_ONCE", at_once)
    query = torch.randn(BATCH, HEADS, QUERIES, SIZE, dtype=torch.float64)
    words = torch.randn(BATCH, 97, 2 * HEADS * SIZE, dtype=torch.float64)
    mask = torch.arange(97) < torch.tensor([97, 50, 0])[:, None]
    group = torch.randint(12, (BATCH, 97))
    chosen = torch.rand(BATCH, 1, 12).argsort(-1).argsort(-1) < groups
    chosen = chosen & (torch.rand(BATCH, QUERIES, 12) < 0.8)
    found = attend_to_groups(query, words, mask, group, chosen)
    torch.testing.assert_close(found, naive(query, words, mask, group, chosen), atol=1e-12, rtol=0)


def test_without_a_word_there_is_nothing() -> None:
    nothing = torch.zeros(2, 0, dtype=torch.long)
    chosen = torch.ones(2, QUERIES, 1, dtype=torch.bool)
    query = torch.randn(2, HEADS, QUERIES, SIZE)
    found = attend_to_groups(query, torch.zeros(2, 0, 2 * HEADS * SIZE), nothing.bool(), nothing, chosen)
    assert torch.equal(found, torch.zeros_like(query))


def test_places_are_packed_in_order() -> None:
    kept = torch.rand(20, 33) < torch.linspace(0, 1, 20)[:, None]
    index, real = pack(kept, 33)
    for row in range(20):
        assert index[row, real[row]].tolist() == kept[row].nonzero().flatten().tolist()
    assert bool((index < 33).all())
