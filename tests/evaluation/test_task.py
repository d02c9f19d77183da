from hashlib import sha256
from pathlib import Path

import pytest

from sumpool.errors import DataError
from sumpool.evaluation.task import file_sha256


def test_an_input_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"text")
    assert file_sha256(tmp_path / "input") == sha256(b"text").hexdigest()
    with pytest.raises(DataError, match=r"missing must be a file that can be read, got: .*No such file"):
        file_sha256(tmp_path / "missing")
