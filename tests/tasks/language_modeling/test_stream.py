"""Streams of running text: round trip, types, and damage."""

import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.data.batches import Position, updates_from
from sumpool.errors import DataError
from sumpool.tasks.language_modeling.stream import (
    PADDING,
    STREAM,
    TextStream,
    TextWindows,
    collate_windows,
    window_batches,
    write_stream,
)


@pytest.mark.parametrize(("vocabulary", "size"), [(300, 2), (65_536, 2), (65_537, 4)])
def test_ids_are_mapped_and_read_as_a_ring(vocabulary: int, size: int, tmp_path: Path) -> None:
    write_stream(tmp_path, "test", np.array([5, 6, 7, 299]), None, vocabulary)
    stream = TextStream(tmp_path, "test", vocabulary)
    assert stream.ids.tolist() == [5, 6, 7, 299]
    assert stream.ids.itemsize == size
    ids, boundaries = stream.read(3, 7)
    assert ids.tolist() == [299, 5, 6, 7, 299, 5, 6]
    assert boundaries is None
    assert isinstance(stream.ids, np.memmap)


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must hold running text, got no test/stream.json; run sumpool prepare"):
        TextStream(tmp_path, "test")
    write_stream(tmp_path, "test", np.array([5, 6, 250]), None, 300)
    with pytest.raises(DataError, match="must hold ids from 0 to 99, got 5 to 250 from token 0; run sumpool prepare"):
        TextStream(tmp_path, "test", 100).read(0, 3)
    for facts, message in (
        ({"tokens": 3}, "the type of the tokens, got KeyError"),
        ({"tokens": -1, "type": "int32"}, "must state a number of tokens, got -1"),
        ({"tokens": 9, "type": "uint16"}, "must have 18 bytes, got 6"),
    ):
        (tmp_path / "test" / STREAM).write_text(json.dumps(facts))
        with pytest.raises(DataError, match=message):
            TextStream(tmp_path, "test")


def stream(tmp_path: Path, tokens: int = 103, *, taught: bool = False) -> TextStream:
    ids = np.arange(5, 5 + tokens)
    write_stream(tmp_path, "train", ids, ids % 3 == 0 if taught else None, 500)
    return TextStream(tmp_path, "train", 500)


@pytest.mark.parametrize("roll", [True, False])
def test_an_epoch_has_every_window_once(roll: bool) -> None:
    orders = [np.ravel(window_batches(103, 10, 20, epoch, seed=3, rotate=float(roll))) for epoch in range(3)]
    for order in orders:
        shift = min(order % 10) if not roll else order[0] % 10
        assert len(set(order.tolist())) == 10
        covered = {(start + place) % 103 for start in order.tolist() for place in range(10)}
        assert len(covered) == 100
        assert roll or shift == 0
    assert len({tuple(sorted(order.tolist())) for order in orders}) == (3 if roll else 1)
    assert len({tuple(order.tolist()) for order in orders}) == 3
    again, other = (window_batches(103, 10, 20, 2, seed=seed, rotate=float(roll)) for seed in (3, 4))
    assert np.ravel(again).tolist() == orders[2].tolist() != np.ravel(other).tolist()


def test_an_order_is_resumed_at_any_batch_and_a_short_text_is_one_ring() -> None:
    epochs = partial(window_batches, 103, 10, 30, seed=1, rotate=1.0)
    whole = list(itertools.islice(updates_from(Position(), epochs, 1), 9))
    for index, (_, position) in enumerate(whole[:-1], 1):
        assert next(updates_from(position, epochs, 1)) == whole[index]
    assert window_batches(5, 10, 30, 0, seed=1, rotate=1.0) in ([[start]] for start in range(5))


def test_windows_of_a_ring_go_on_at_the_beginning_and_consecutive_ones_predict_every_token_once(tmp_path: Path) -> None:
    windows = TextWindows(stream(tmp_path), 10, ring=True)
    assert len(windows) == len(windows.lengths) == 103
    item = windows[98]
    assert item.target is not None
    assert item.ids.tolist() == [103, 104, 105, 106, 107, 5, 6, 7, 8, 9]
    assert item.target.tolist() == [104, 105, 106, 107, 5, 6, 7, 8, 9, 10]
    assert item.id == "tokens 98-107"
    windows = TextWindows(stream(tmp_path), 10, ring=False)
    targets = [windows[index].target for index in range(len(windows))]
    assert np.concatenate([target for target in targets if target is not None]).tolist() == list(range(6, 108))
    assert windows.lengths.tolist() == [len(windows[index].ids) for index in range(len(windows))]
    assert windows.lengths[-1] == 2
    item = TextWindows(stream(tmp_path, taught=True), 6, ring=False)[0]
    assert item.ids.tolist() == [5, 6, 7, 8, 9, 10]
    assert item.sentences.tolist() == [0, 0, 1, 1, 1, 2]


def test_batches_are_packed_and_only_the_last_window_is_padded(tmp_path: Path) -> None:
    windows = TextWindows(stream(tmp_path, taught=True), 10, ring=False)
    batch = collate_windows([windows[0], windows[10]], 1, 1)
    assert batch.ids.shape == (2, 10)
    assert batch.mask.sum(1).tolist() == [10, 2]
    assert batch.phrases is not None
    assert batch.phrases[1, 2:].eq(PADDING).all()
    assert batch.target is not None
    assert torch.equal(batch.target[0, :-1], batch.ids[0, 1:])
    assert batch.target[1, 2:].eq(batch.pad).all()
