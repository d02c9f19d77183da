"""Reading of plain and compressed files, and strict decoding of text."""

import bz2
import errno
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, TYPE_CHECKING, cast

from sumpool.documents.document import Limits
from sumpool.errors import DataError

if TYPE_CHECKING:
    from typing_extensions import Buffer

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

COMPRESSIONS = (".gz", ".zst")
READ_ERRORS = (OSError, EOFError, zlib.error, zstd.ZstdError, lzma.LZMAError)
"""Exceptions raised by reading a file, including a damaged archive."""

_GZIP, _ZSTD, _BZIP2, _XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0"
_BY_SUFFIX: Mapping[str, Callable[[IO[bytes]], object]] = {".gz": gzip.open, ".zst": zstd.open}
_CHUNK = 2**20
_MAX_RATIO, _FREE_BYTES = 300, 16 * 2**20
"""Decompressed bytes for each compressed one in files of rows, which no worker process reads, and bytes without such a
limit. The text of a book repeated a thousand times has fewer, an archive bomb more."""
_WRITER_SECONDS = 5.0
"""Time until a named pipe must have a writer, without which opening it would never return."""


def open_input(path: Path) -> IO[bytes]:
    """Open a file, a pipe or a device for reading bytes.

    Raises:
        DataError: If it is missing or not readable, or a named pipe that nothing writes to.
    """
    try:
        return _open_pipe(path) if path.is_fifo() else path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a null character or a lone surrogate in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"{path} must be a file that can be read, got: {reason}; check the path") from error


def _open_pipe(path: Path) -> IO[bytes]:
    opened = SimpleQueue[IO[bytes] | OSError]()

    def wait() -> None:
        try:
            opened.put(path.open("rb"))
        except OSError as error:
            opened.put(error)

    Thread(target=wait, daemon=True).start()  # it stays where the pipe never has a writer
    try:
        result = opened.get(timeout=_WRITER_SECONDS)
    except Empty:
        reason = f"a named pipe that nothing wrote to for {_WRITER_SECONDS:g} seconds"
        raise OSError(errno.EPIPE, reason) from None
    if isinstance(result, OSError):
        raise result
    return result


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file or a pipe for reading bytes; `.gz` and `.zst` are decompressed.

    Raises:
        DataError: If the file is missing or not readable; or on reading, if it expands to too much.
    """
    file = open_input(path)
    return open_unpacked(file, path) if path.suffix in COMPRESSIONS else file


def open_unpacked(file: IO[bytes], path: Path) -> IO[bytes]:
    """Open a compressed file (gzip, Zstandard, bzip2 or xz, recognised by its first bytes) for reading its content.

    Args:
        file: The file, which is closed with the result.
        path: Its path, for the error.

    Raises:
        DataError: On reading, if the content is too large for the size of the file.
    """
    counted = _Counted(file)
    buffered = io.BufferedReader(counted)
    head = buffered.peek(len(_XZ))
    kinds: tuple[tuple[bytes, Callable[[IO[bytes]], object]], ...] = (
        (_GZIP, gzip.open), (_ZSTD, zstd.open), (_BZIP2, bz2.open), (_XZ, lzma.open),
    )  # fmt: skip
    unpack = next((unpack for magic, unpack in kinds if head.startswith(magic)), _BY_SUFFIX.get(path.suffix))
    if unpack is None:
        return buffered
    return io.BufferedReader(_Unpacked(cast(IO[bytes], unpack(buffered)), counted, path), _CHUNK)


def check_ratio(size: int, compressed: int) -> None:
    """Raise a ValueError if a file of rows expands to too many bytes; the message lacks the subject."""
    if size > max(_FREE_BYTES, _MAX_RATIO * compressed):
        raise ValueError(
            f"must expand to at most {_MAX_RATIO} times its size, got more: an archive that fills the memory; "
            "decompress it to read it"
        )


class _Counted(io.RawIOBase):
    """Raw stream that counts the bytes that were read from a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer", /) -> int:
        view = memoryview(buffer)
        chunk = self._file.read(len(view))
        view[: len(chunk)] = chunk
        self.count += len(chunk)
        return len(chunk)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unpacked(_Counted):
    """Raw stream of decompressed bytes, as many as the bytes that were compressed allow."""

    def __init__(self, file: IO[bytes], packed: _Counted, path: Path) -> None:
        super().__init__(file)
        self._packed = packed
        self._path = path

    def readinto(self, buffer: "Buffer", /) -> int:
        size = super().readinto(buffer)
        try:
            check_ratio(self.count, self._packed.count)
        except ValueError as error:
            raise DataError(f"{self._path} {error}") from error
        return size

    def close(self) -> None:
        super().close()
        self._packed.close()


def read_limited(stream: IO[bytes], limits: Limits) -> bytes:
    """Read a stream to its end, decompressing gzip and Zstandard recognised by their first bytes.

    Raises:
        ValueError: If there are more bytes than the limits allow; the message lacks the subject.
        OSError, EOFError, zlib.error, zstd.ZstdError: If the stream is damaged, `READ_ERRORS`.
    """
    content = read_up_to(stream, limits)
    while content.startswith((_GZIP, _ZSTD)):
        decompress = gzip.open if content.startswith(_GZIP) else zstd.open
        with cast(IO[bytes], decompress(io.BytesIO(content))) as file:
            content = read_up_to(file, limits)
    return content


def read_up_to(stream: IO[bytes], limits: Limits) -> bytes:
    """Read a stream to its end as it is.

    Raises:
        ValueError: If there are more bytes than the limits allow; the message lacks the subject.
    """
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        limits.check_bytes(size)
    return b"".join(chunks)


def read_lines_limited(file: IO[bytes], limits: Limits, where: str) -> Iterator[bytes]:
    """Read the lines of a file, none longer than the limits allow.

    Args:
        file: The file.
        limits: Limits, of which the size counts.
        where: Name of the file, for the error.

    Raises:
        DataError: If a line is longer.
    """
    number = 0
    while line := file.readline(limits.max_bytes + 1):
        number += 1
        try:
            limits.check_bytes(len(line))
        except ValueError as error:
            raise DataError(f"{where}:{number} {error}") from error
        yield line


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
