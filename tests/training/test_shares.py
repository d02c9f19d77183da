from dataclasses import replace

import numpy as np
import pytest

from sumpool.training.data_order import reseed
from sumpool.training.distributed import Processes
from sumpool.training.shares import divide, imbalance, micro_batches, share_of
from tests.training.toy import DATA


def test_every_document_has_one_process_and_tokens_are_balanced() -> None:
    for size in (1, 2, 3, 7):
        lengths = np.random.default_rng(0).integers(1, 100, 40)
        shares = divide(lengths, size)
        assert sorted(place for share in shares for place in share) == list(range(40))
        assert imbalance(lengths, shares) < 0.05
        assert all(lengths[share].tolist() == sorted(lengths[share]) for share in shares)


def test_imbalance_is_that_of_the_fullest_share() -> None:
    assert imbalance([3, 1], [[0], [1]]) == pytest.approx(0.5)
    assert imbalance([2, 2], [[0], [1]]) == 0


def test_batches_of_a_share_keep_the_token_budget() -> None:
    lengths = [5, 9, 5, 6]
    assert micro_batches([0, 2, 3, 1], lengths, 12) == [[0, 2], [3], [1]]


def test_a_process_without_documents_takes_the_shortest() -> None:
    assert divide([7, 4], 3) == [[0], [1], []]
    assert micro_batches([], [7, 4], 100) == [[1]]


def test_shares_have_the_documents_of_one_process_in_their_rotation() -> None:
    data = replace(DATA, rotate=0.5)
    update = [[3, 4], [5], [0, 1, 2]]
    rows = []
    for size in (1, 2, 4):
        documents: dict[str, list[int]] = {}
        for rank in range(size):
            reseed(1, 1)
            share = share_of(data, update, 64, Processes(rank, size))
            assert (share.imbalance is None) == (size == 1)
            for batch in share.batches:
                documents |= {
                    name: ids[mask].tolist()
                    for name, ids, mask in zip(batch.documents, batch.ids, batch.mask, strict=True)
                }
        rows.append(documents)
    assert rows[0] == rows[1] == rows[2]
    assert len(rows[0]) == 6
    items = [DATA.training[number] for number in range(6)]
    assert any(rows[0][item.id] != item.ids[:16].tolist() for item in items)
