"""Opening of files and pipes that a user names; a named pipe without a writer is refused instead of waited for."""

import errno
import io
import os
import select
import stat
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from sumpool.io.bounded import READ_FLAGS

if TYPE_CHECKING:
    from typing_extensions import Buffer

WRITER_SECONDS: Final = 5.0
"""Time until a named pipe must have a writer."""
_POLL_SECONDS: Final = 0.05


def open_input(path: Path) -> IO[bytes]:
    """Open a file, a pipe or a device that a user names; a named pipe must have a writer within some seconds.

    Raises:
        OSError: If there is no such file, it cannot be read, or it is a named pipe without a writer.
    """
    try:
        descriptor = os.open(path, READ_FLAGS)
    except ValueError as error:  # a null character or a lone surrogate in the name
        raise OSError(errno.EINVAL, str(error)) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    start = _wait_for_writer(descriptor) if stat.S_ISFIFO(mode) else b""
    if start is None:
        os.close(descriptor)
        raise OSError(errno.EPIPE, f"a named pipe that nothing wrote to for {WRITER_SECONDS:g} seconds")
    os.set_blocking(descriptor, True)
    file = os.fdopen(descriptor, "rb")
    return cast(IO[bytes], io.BufferedReader(_Resumed(start, file))) if start else file


def _wait_for_writer(descriptor: int) -> bytes | None:
    """Wait until a named pipe has a writer; return the bytes read meanwhile, None without a writer."""
    end = time.monotonic() + WRITER_SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not poll.poll(0):  # neither data nor the end of data
        try:
            start = os.read(descriptor, 1)
        except BlockingIOError:
            return b""  # there is a writer, which has not written yet
        if start:
            return start
        if time.monotonic() > end:
            return None
        time.sleep(_POLL_SECONDS)
    return b""


class _Resumed(io.RawIOBase):
    """Raw stream whose first bytes have been read."""

    def __init__(self, start: bytes, file: IO[bytes]) -> None:
        self._start = start
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer", /) -> int:
        view = memoryview(buffer)
        chunk, self._start = self._start or self._file.read1(len(view)), b""  # type: ignore[attr-defined]
        view[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._file.close()
        super().close()
