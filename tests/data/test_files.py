from pathlib import Path

import numpy as np
import pytest

from sumpool.data.files import open_array
from sumpool.errors import DataError

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


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"array must exist in prepared data, got No such file"):
        open_array(tmp_path / "array", INT32)
