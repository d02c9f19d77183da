from pathlib import Path

import numpy as np
import pytest

from sumpool.data.shards import Item, Shard, ShardWriter
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.errors import DataError


def items(vocabulary: int = 8000) -> list[Item]:
    draw = np.random.default_rng(0)
    made = []
    for number, length in enumerate([7, 1, 300, 0]):
        ids = draw.integers(0, vocabulary, length)
        sentences = np.sort(draw.integers(0, 9, length)).astype(np.int32)
        made.append(Item(f"näme {number}\n", ids, sentences, draw.integers(0, vocabulary, number)))
    return made


def write(folder: Path, made: list[Item], vocabulary: int = 8000) -> None:
    with ShardWriter(folder, "train", vocabulary) as shard, TextsWriter(folder, "train") as texts:
        for item in made:
            shard.add(item)
            texts.add(Example(item.id, f"document of\n{item.id}", "summary", "train"))


@pytest.mark.parametrize(("vocabulary", "kind"), [(8000, np.uint16), (65536, np.uint16), (65537, np.int32)])
def test_documents_come_back_as_they_were_written(tmp_path: Path, vocabulary: int, kind: type) -> None:
    made = items(vocabulary)
    write(tmp_path, made, vocabulary)
    shard = Shard.open(tmp_path, "train")
    assert len(shard) == len(made) == 4
    for read, item in zip((shard[number] for number in range(4)), made, strict=True):
        assert read.id == item.id
        assert read.ids.dtype == kind
        assert read.sentences.dtype == np.int32
        assert read.target is not None
        np.testing.assert_array_equal(read.ids, item.ids)
        np.testing.assert_array_equal(
            read.sentences, item.sentences
        )  # numbers without tokens are skipped, not closed up
        np.testing.assert_array_equal(read.target, item.target)
    assert shard.lengths.tolist() == [7, 1, 300, 0]
    assert shard.target_lengths.tolist() == [0, 1, 2, 3]
    assert shard.text(2) == Example("näme 2\n", "document of\nnäme 2\n", "summary", "train")


def test_a_split_without_documents_is_empty(tmp_path: Path) -> None:
    write(tmp_path, [])
    shard = Shard.open(tmp_path, "train")
    assert len(shard) == 0
    assert shard.lengths.tolist() == []


def test_a_document_that_is_not_there_is_an_index_error(tmp_path: Path) -> None:
    write(tmp_path, items())
    with pytest.raises(IndexError, match="a document's number must lie within 0 and 3, got 4"):
        Shard.open(tmp_path, "train")[4]


@pytest.mark.parametrize("name", ["tokens.bin", "sentences.bin", "target.bin", "names.bin", "index.bin", "texts.jsonl"])
def test_a_cut_file_is_named(tmp_path: Path, name: str) -> None:
    write(tmp_path, items())
    path = tmp_path / "train" / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=rf"{name} must have \d+ bytes, got \d+; the file is damaged"):
        Shard.open(tmp_path, "train")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, items())
    (tmp_path / "train" / "target.bin").unlink()
    with pytest.raises(DataError, match=r"target.bin must exist in prepared data, got No such file"):
        Shard.open(tmp_path, "train")


def test_a_broken_description_is_named(tmp_path: Path) -> None:
    write(tmp_path, items())
    (tmp_path / "train" / "shard.json").write_text("{}")
    with pytest.raises(DataError, match=r"shard.json must say the type of the tokens, got KeyError"):
        Shard.open(tmp_path, "train")
