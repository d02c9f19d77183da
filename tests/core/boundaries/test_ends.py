"""Boundaries without parameters: fixed, whitespace, sentence."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from sumpool.core.boundaries import (
    FixedBoundariesConfig,
    SentenceBoundariesConfig,
    WhitespaceBoundariesConfig,
    run_ends,
)
from tests.core.batches import make_tokens

EMBEDDING = nn.Embedding(50, 16)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_fixed_segments_end_at_multiples_of_the_size(size: int) -> None:
    ends = FixedBoundariesConfig(size=size).build(EMBEDDING)(make_tokens(10)).ends
    assert ends.nonzero()[:, 1].tolist() == list(range(size - 1, 10, size))


def test_words_and_sentences_end_where_their_index_changes() -> None:
    tokens = replace(
        make_tokens(6), words=torch.tensor([[1, 1, 2, 3, 3, 4]]), sentences=torch.tensor([[0, 0, 0, 0, 2, 2]])
    )
    assert WhitespaceBoundariesConfig().build(EMBEDDING)(tokens).ends.tolist() == [[0, 1, 1, 0, 1, 1]]
    assert SentenceBoundariesConfig().build(EMBEDDING)(tokens).ends.tolist() == [[0, 0, 0, 1, 0, 1]]


def test_the_last_real_token_ends_a_run_whatever_the_padding() -> None:
    mask = torch.tensor([[True, True, False]])
    assert run_ends(torch.tensor([[7, 7, 7]]), mask)[mask].tolist() == [False, True]
