"""Reading of plain and compressed files, and strict decoding of text."""

import gzip
import sys
import zlib
from pathlib import Path
from typing import IO, cast

from sumpool.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

COMPRESSIONS = (".gz", ".zst")
READ_ERRORS = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""Exceptions raised by reading a file, including a damaged archive."""


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading bytes; `.gz` and `.zst` are decompressed.

    Raises:
        DataError: If the file is missing or not readable.
    """
    try:
        if path.suffix == ".gz":
            return cast(IO[bytes], gzip.open(path))
        if path.suffix == ".zst":
            return cast(IO[bytes], zstd.open(path))
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error.strerror}; check the path") from error


def uncompressed_suffix(path: Path) -> str:
    """Return the suffix of a file name in lower case, without a compression suffix."""
    return (Path(path.stem) if path.suffix in COMPRESSIONS else path).suffix.lower()


def decode(content: bytes) -> str:
    """Decode strict UTF-8 without its byte-order mark.

    Raises:
        ValueError: If the bytes are not text; the message lacks the subject ("must be ...").
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise ValueError(f"must be UTF-8, got byte 0x{byte:02x} at position {error.start}; convert it") from error
    if "\0" in text:
        raise ValueError(f"must be text, got a null character at position {text.index(chr(0))}")
    return text
