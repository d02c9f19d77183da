import gzip
from pathlib import Path

import pytest

from sumpool.documents.files import decode, open_bytes, uncompressed_suffix, zstd
from sumpool.errors import DataError


@pytest.mark.parametrize(
    ("suffix", "content"),
    [("", b"one\ntwo"), (".gz", gzip.compress(b"one\ntwo", mtime=0)), (".zst", zstd.compress(b"one\ntwo"))],
    ids=["plain", "gzip", "zstd"],
)
def test_compressed_files_are_decompressed(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(content)
    with open_bytes(path) as file:
        assert list(file) == [b"one\n", b"two"]
    assert uncompressed_suffix(path) == ".txt"


@pytest.mark.parametrize("name", ["missing.txt", "missing.gz", "missing.zst", "."])
def test_unreadable_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"must be a file that can be read, got: .*; check the path"):
        open_bytes(tmp_path / name)


def test_decoding_is_strict() -> None:
    assert decode("\ufeffGrüße\u2028".encode()) == "Grüße\u2028"
    with pytest.raises(ValueError, match="must be UTF-8, got byte 0xe9 at position 1; convert it"):
        decode(b"a\xe9")
    with pytest.raises(ValueError, match="must be text, got a null character at position 2"):
        decode(b"ab\0c")
