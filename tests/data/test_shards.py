from pathlib import Path

import numpy as np
import pytest

from sumpool.data.config import Example
from sumpool.data.shards import Item, Shard, ShardWriter, Texts, TextsWriter, open_array
from sumpool.errors import DataError


def items(vocabulary: int = 8000) -> list[Item]:
    draw = np.random.default_rng(0)
    documents = []
    for number, length in enumerate([7, 1, 300, 0]):
        ids = draw.integers(0, vocabulary, length)
        sentences = np.sort(draw.integers(0, 9, length)).astype(np.int32)
        documents.append(Item(f"näme {number}\n", ids, sentences, draw.integers(0, vocabulary, number)))
    return documents


def write(folder: Path, documents: list[Item], vocabulary: int = 8000) -> None:
    with ShardWriter(folder, "train", vocabulary) as shard, TextsWriter(folder, "train") as texts:
        for item in documents:
            shard.add(item)
            texts.add(Example(item.id, f"document of\n{item.id}", "summary", "train"))


@pytest.mark.parametrize(("vocabulary", "dtype"), [(8000, np.uint16), (65536, np.uint16), (65537, np.int32)])
def test_documents_are_read_as_written(tmp_path: Path, vocabulary: int, dtype: type) -> None:
    documents = items(vocabulary)
    write(tmp_path, documents, vocabulary)
    shard = Shard(tmp_path, "train")
    assert len(shard) == len(documents) == 4
    for read, item in zip((shard[number] for number in range(4)), documents, strict=True):
        assert read.id == item.id
        assert read.ids.dtype == dtype
        assert read.sentences.dtype == np.int32
        assert read.target is not None
        np.testing.assert_array_equal(read.ids, item.ids)
        np.testing.assert_array_equal(read.sentences, item.sentences)  # empty sentences keep their number
        np.testing.assert_array_equal(read.target, item.target)
    assert shard.lengths.tolist() == [7, 1, 300, 0]
    assert isinstance(shard[2].ids, np.memmap)
    assert shard.text(2) == Example("näme 2\n", "document of\nnäme 2\n", "summary", "train")


@pytest.mark.parametrize("name", ["tokens.bin", "sentences.bin", "target.bin", "names.bin", "index.bin", "texts.jsonl"])
def test_truncated_file_is_an_error(tmp_path: Path, name: str) -> None:
    write(tmp_path, items())
    path = tmp_path / "train" / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=rf"{name} must have \d+ bytes, got \d+; the file is damaged"):
        Shard(tmp_path, "train")


def test_invalid_description_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, [])
    shard = Shard(tmp_path, "train")
    assert (len(shard), shard.lengths.tolist()) == (0, [])
    (tmp_path / "train" / "shard.json").write_text("{}")
    with pytest.raises(DataError, match=r"shard.json must state the type of the token ids, got KeyError"):
        Shard(tmp_path, "train")


def spoil(path: Path, dtype: str, place: int, value: int) -> None:
    """Write another number into a file."""
    array = np.fromfile(path, dtype)
    array[place] = value
    array.tofile(path)


def test_damaged_offsets_are_refused(tmp_path: Path) -> None:
    write(tmp_path, items())
    index = tmp_path / "train" / "index.bin"
    whole = index.read_bytes()
    index.write_bytes(whole[:-8])
    with pytest.raises(DataError, match=r"index\.bin must have 4 numbers for each document, got 19; run sumpool"):
        Shard(tmp_path, "train")
    for place in (0, 4):
        index.write_bytes(whole)
        spoil(index, "<i8", place, 10_000)
        with pytest.raises(DataError, match=r"index\.bin must hold offsets that begin with 0 and grow, got others"):
            Shard(tmp_path, "train")
    index.write_bytes(whole + whole[-32:])
    with pytest.raises(DataError, match=r"train must list 4 documents, got 5; run sumpool prepare again"):
        Shard(tmp_path, "train")
    index.write_bytes(whole)
    spoil(tmp_path / "train" / "texts.bin", "<i8", 1, -1)
    with pytest.raises(DataError, match=r"texts\.bin must hold offsets that begin with 0 and grow, got others"):
        Shard(tmp_path, "train")


def test_ids_out_of_the_vocabulary_are_refused(tmp_path: Path) -> None:
    write(tmp_path, items(70_000), 70_000)
    (tmp_path / "train" / "shard.json").write_text('{"tokens": "int32"}')
    shard = Shard(tmp_path, "train", 70_000)
    assert len(shard[2].ids) == 300
    spoil(tmp_path / "train" / "tokens.bin", "<i4", -1, 70_000)
    with pytest.raises(DataError, match=r"train must hold ids from 0 to 69,999, got .* to 70,000 in document 3; run"):
        Shard(tmp_path, "train", 70_000)[2]
    spoil(tmp_path / "train" / "tokens.bin", "<i4", -1, -1)
    with pytest.raises(DataError, match=r"got -1 to .* in document 3"):
        Shard(tmp_path, "train", 70_000)[2]
    spoil(tmp_path / "train" / "target.bin", "<i4", -1, 1 << 30)
    with pytest.raises(DataError, match=r"to 1,073,741,824 in document 4"):
        Shard(tmp_path, "train", 70_000)[3]


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"id": 1, "document": "", "summary": ""}', b"[" * 70])
def test_damaged_texts_are_refused(tmp_path: Path, line: bytes) -> None:
    write(tmp_path, items())
    texts = tmp_path / "train" / "texts.jsonl"
    first, rest = texts.read_bytes().split(b"\n", 1)
    texts.write_bytes(line.ljust(len(first)) + b"\n" + rest)
    with pytest.raises(DataError, match=r"texts\.jsonl:1 must be a document, got .*; run sumpool prepare again"):
        Shard(tmp_path, "train").text(0)


EXAMPLES = [
    Example("a", "one\n\ntwo\u2028three", "sümmary", "test"),
    Example("b", 'quotes " and \\ and \x00', "s", "test"),
    Example("c", "", "", "test"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with TextsWriter(tmp_path, "test") as writer:
        for example in EXAMPLES:
            writer.add(example)
    assert writer.documents == 3
    return tmp_path


def test_texts_are_read_in_any_order(folder: Path) -> None:
    texts = Texts(folder, "test")
    assert len(texts) == 3
    assert list(texts) == EXAMPLES
    assert [texts[2], texts[0]] == [EXAMPLES[2], EXAMPLES[0]]
    assert list(texts.read(1, 3)) == EXAMPLES[1:]
    assert texts.sizes().sum() == (folder / "test" / "texts.jsonl").stat().st_size


def test_missing_texts_are_an_error(folder: Path) -> None:
    (folder / "test" / "texts.jsonl").unlink()
    with pytest.raises(DataError, match=r"texts.jsonl must exist in prepared data"):
        Texts(folder, "test")


def test_wrong_size_is_an_error(tmp_path: Path) -> None:
    for size, length in [(0, None), (7, None), (8, 3), (8, 1), (8, 0)]:
        (tmp_path / "array").write_bytes(bytes(size))
        with pytest.raises(DataError, match=rf"array must have \d+ bytes, got {size}; the file is damaged"):
            open_array(tmp_path / "array", np.dtype("<i4"), length)
