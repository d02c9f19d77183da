import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from sumpool.documents import files
from sumpool.documents.document import Limits, ReadOptions
from sumpool.documents.files import (
    decode,
    open_bytes,
    open_unpacked,
    read_limited,
    read_lines_limited,
    uncompressed_suffix,
    zstd,
)
from sumpool.errors import DataError


def test_compressed_files_are_decompressed(tmp_path: Path) -> None:
    for suffix, content in [
        ("", b"one\ntwo"),
        (".gz", gzip.compress(b"one\ntwo")),
        (".zst", zstd.compress(b"one\ntwo")),
    ]:
        path = tmp_path / f"text.TXT{suffix}"
        path.write_bytes(content)
        with open_bytes(path) as file:
            assert list(file) == [b"one\n", b"two"]
        assert uncompressed_suffix(path) == ".txt"


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    for name in ["missing.txt", "missing.gz", "missing.zst", "."]:
        with pytest.raises(DataError, match=r"must be a file that can be read, got: .*; check the path"):
            open_bytes(tmp_path / name)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_named_pipe_waits_for_a_writer_but_not_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    Timer(0.1, lambda: pipe.write_bytes(b"one\ntwo")).start()
    with open_bytes(pipe) as file:
        assert list(file) == [b"one\n", b"two"]
    monkeypatch.setattr(files, "_WRITER_SECONDS", 0.1)
    with pytest.raises(DataError, match=r"got: a named pipe that nothing wrote to for 0\.1 seconds; check the path"):
        open_bytes(pipe)


def test_decoding_is_strict() -> None:
    assert decode("\ufeffGrüße\u2028".encode()) == "Grüße\u2028"
    with pytest.raises(ValueError, match="must be UTF-8, got byte 0xe9 at position 1; convert it"):
        decode(b"a\xe9")
    with pytest.raises(ValueError, match="must be text, got a null character at position 2"):
        decode(b"ab\0c")


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, gzip.compress, zstd.compress])
def test_compression_is_recognised_by_content_and_limited(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "archive"
    for size in (7, 16 * 2**20):
        path.write_bytes(pack(bytes(size)))
        with open_unpacked(path.open("rb"), path) as file:
            assert file.read() == bytes(size)
    path.write_bytes(pack(bytes(32 * 2**20)))
    message = "archive must expand to at most 300 times its size, got more.*; decompress it"
    with open_unpacked(path.open("rb"), path) as file, pytest.raises(DataError, match=message):
        file.read()


def test_streams_are_unpacked_and_limited_in_size() -> None:
    packed = gzip.compress(bytes(2**25))
    assert len(read_limited(io.BytesIO(packed), Limits(2**25))) == 2**25
    assert read_limited(io.BytesIO(gzip.compress(zstd.compress(gzip.compress(b"text")))), Limits()) == b"text"
    for content, limit, size in ((bytes(2**20 + 1), 2**20, 1), (packed, 2**25 - 1, 32)):
        message = f"must have at most {size} MiB of content, got more; raise --max-bytes to read it"
        with pytest.raises(ValueError, match=message):
            read_limited(io.BytesIO(content), ReadOptions(max_bytes=limit).limits)


def test_a_long_line_is_an_error() -> None:
    file = io.BytesIO(b"one\n" + bytes(20) + b"\n")
    lines = read_lines_limited(file, Limits(10, raise_bytes="; ask"), "x.csv")
    assert next(lines) == b"one\n"
    with pytest.raises(DataError, match=r"x\.csv:2 must have at most 0 MiB of content, got more; ask"):
        next(lines)
