"""Bytes and text of a file, compressed or not."""

import gzip
import sys
import zlib
from pathlib import Path
from typing import IO, cast

from sumpool.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSIONS = (".gz", ".zst")
BROKEN = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""What reading a file may raise, a damaged archive included."""


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file to read its bytes; `.gz` and `.zst` are unpacked on the way.

    Raises:
        DataError: If there is no such file, or if it may not be read.
    """
    try:
        if path.suffix == ".gz":
            return cast(IO[bytes], gzip.open(path))
        if path.suffix == ".zst":
            return cast(IO[bytes], zstd.open(path))
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error.strerror}; check the path") from error


def plain_suffix(path: Path) -> str:
    """Give the suffix of a file's name in lower case, without that of a compression."""
    return (Path(path.stem) if path.suffix in COMPRESSIONS else path).suffix.lower()


def decode(content: bytes) -> str:
    """Decode strict UTF-8; a byte-order mark is left out.

    Raises:
        ValueError: If the bytes are no text; the message is half a sentence.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise ValueError(f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it") from error
    if "\0" in text:
        raise ValueError(f"must be text, got a null character at position {text.index(chr(0))}")
    return text
