from pathlib import Path

import numpy as np
import pytest

from sumpool.data.sources._base import Example
from sumpool.data.texts import Texts, TextsWriter, open_array
from sumpool.errors import DataError

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
    texts = Texts.open(folder, "test")
    assert len(texts) == 3
    assert list(texts) == EXAMPLES
    assert [texts[2], texts[0]] == [EXAMPLES[2], EXAMPLES[0]]
    assert list(texts.read(1, 3)) == EXAMPLES[1:]
    assert texts.sizes().sum() == (folder / "test" / "texts.jsonl").stat().st_size


def test_index_out_of_range_is_an_error(folder: Path) -> None:
    with pytest.raises(IndexError, match="document range must be within 0 and 3, got 3 to 4"):
        Texts.open(folder, "test")[3]


def test_missing_texts_are_an_error(folder: Path) -> None:
    (folder / "test" / "texts.jsonl").unlink()
    with pytest.raises(DataError, match=r"texts.jsonl must exist in prepared data"):
        Texts.open(folder, "test")


INT32 = np.dtype("<i4")


def test_array_is_memory_mapped(tmp_path: Path) -> None:
    path = tmp_path / "array"
    np.arange(5, dtype=INT32).tofile(path)
    array = open_array(path, INT32)
    assert isinstance(array, np.memmap)
    assert array.tolist() == [0, 1, 2, 3, 4]
    assert not array.flags.writeable


def test_empty_file_is_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "array").touch()
    assert open_array(tmp_path / "array", INT32, 0).tolist() == []


def test_wrong_size_is_an_error(tmp_path: Path) -> None:
    for size, length in [(0, None), (7, None), (8, 3), (8, 1), (8, 0)]:
        (tmp_path / "array").write_bytes(bytes(size))
        with pytest.raises(DataError, match=rf"array must have \d+ bytes, got {size}; the file is damaged"):
            open_array(tmp_path / "array", INT32, length)
