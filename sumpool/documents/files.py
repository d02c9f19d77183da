"""Reading of plain and compressed files, and strict decoding of text."""

import gzip
import io
import sys
import zlib
from pathlib import Path
from typing import IO, Protocol, cast

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


_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 2**20
_MAX_RATIO = 300
"""Bytes of text per compressed byte; the text of a book repeated a thousand times has fewer, an archive bomb more."""
_RATIO_FREE_BYTES = 16 * 2**20
"""Decompressed bytes below which no ratio is refused."""


class ByteStream(Protocol):
    """Stream that bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes; none at the end."""


def read_limited(stream: ByteStream, max_bytes: int) -> bytes:
    """Read a stream to its end, decompressing gzip and Zstandard recognised by their first bytes.

    Raises:
        ValueError: If there are more than `max_bytes` bytes, or suspiciously many per compressed byte; the message
            lacks the subject.
        OSError, EOFError, zlib.error, zstd.ZstdError: If the stream is damaged, `READ_ERRORS`.
    """
    content = _read_up_to(stream, max_bytes)
    while content.startswith((_GZIP, _ZSTD)):
        decompress = gzip.open if content.startswith(_GZIP) else zstd.open
        with cast(IO[bytes], decompress(io.BytesIO(content))) as file:
            content = _read_up_to(file, max_bytes, len(content))
    return content


def _read_up_to(stream: ByteStream, max_bytes: int, compressed: int = 0) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            raise ValueError(
                f"must have at most {max_bytes / 2**20:,.0f} MiB of content, got more; raise --max-bytes to read it"
            )
        if compressed and size > max(_RATIO_FREE_BYTES, _MAX_RATIO * compressed):
            raise ValueError(
                f"must expand to at most {_MAX_RATIO} times its size, got more: an archive that would fill the memory; "
                "decompress it to read it"
            )
    return b"".join(chunks)


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
