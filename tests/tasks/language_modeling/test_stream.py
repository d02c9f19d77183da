"""Streams of running text: round trip, types, and damage."""

import json
from pathlib import Path

import numpy as np
import pytest

from sumpool.errors import DataError
from sumpool.tasks.language_modeling.stream import STREAM, TextStream, TextStreamWriter

pytestmark = pytest.mark.slow


def write(folder: Path, vocabulary: int, *parts: list[int]) -> None:
    with TextStreamWriter(folder, "test", vocabulary, boundaries=False) as writer:
        for part in parts:
            writer.add(np.array(part))


@pytest.mark.parametrize(("vocabulary", "size"), [(300, 2), (65_536, 2), (65_537, 4)])
def test_ids_are_mapped_and_read_as_a_ring(vocabulary: int, size: int, tmp_path: Path) -> None:
    write(tmp_path, vocabulary, [5, 6], [7, 299])
    stream = TextStream.open(tmp_path, "test", vocabulary)
    assert stream.ids.tolist() == [5, 6, 7, 299]
    assert stream.ids.itemsize == size
    ids, boundaries = stream.read(3, 7)
    assert ids.tolist() == [299, 5, 6, 7, 299, 5, 6]
    assert boundaries is None
    assert isinstance(stream.ids, np.memmap)


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must hold running text, got no test/stream.json; run sumpool prepare"):
        TextStream.open(tmp_path, "test")
    write(tmp_path, 300, [5, 6, 250])
    with pytest.raises(DataError, match="must hold ids from 0 to 99, got 5 to 250 from token 0; run sumpool prepare"):
        TextStream.open(tmp_path, "test", 100).read(0, 3)
    for facts, message in (
        ({"tokens": 3}, "the type of the tokens, got KeyError"),
        ({"tokens": -1, "type": "int32"}, "must state a number of tokens, got -1"),
        ({"tokens": 9, "type": "uint16"}, "must have 18 bytes, got 6"),
    ):
        (tmp_path / "test" / STREAM).write_text(json.dumps(facts))
        with pytest.raises(DataError, match=message):
            TextStream.open(tmp_path, "test")
