"""Attention to selected groups of words, against one query at a time."""

import pytest
import torch
from torch import Tensor

from sumpool.core.nn import sentences
from sumpool.core.nn.sentences import attend_to_groups

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
    mask = torch.arange(97) < torch.tensor([97, 50, 0])[:, None]
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
