"""Process that reads PDF files: PDFium ends its process on some damaged files, and cannot be stopped."""

import atexit
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, final

from sumpool.documents.document import ParsedDocument, TextBlock
from sumpool.io.bounded import parse_json

_PACKAGES = Path(__file__).parents[3]
_MAIN = "import sys; sys.path[:] = {paths!r}; from sumpool.documents.pdf.reader import main; main()"
_OUT_OF_TIME = -getattr(signal, "SIGXCPU", 0)
_LENGTH_BYTES: Final = 8
_SECONDS: Final = 4, 20
"""Processor time of a file, and for each of its mebibytes; papers and books take a tenth of it."""
_MEMORY: Final = 1 << 30
"""Address space beside four times the size of a file."""
_MAX_REPLY: Final = 1 << 30


@final
class PdfProcess:
    """Process that is started for the first file, and again after one that ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._parent = 0

    def read(self, content: bytes, max_pages: int) -> ParsedDocument:
        """Read a PDF file; not safe for threads.

        Raises:
            ValueError: As `read_pdf`, or if the process ended for its limits of time and memory or a fault of PDFium.
        """
        process = self._running()
        try:
            reply = _exchange(process, content, max_pages)
            if reply is None:
                raise ValueError(_failure(process.wait()))
        except BaseException:  # also an interruption while the process is at work
            self.close()
            raise
        result = parse_json(reply, _MAX_REPLY)
        if "error" in result:
            raise ValueError(result["error"])
        blocks = tuple(TextBlock(*block) for block in result["blocks"])
        return ParsedDocument(blocks, result["title"], tuple(result["notes"]))

    def close(self) -> None:
        """End the process, if it is one of this process."""
        process, self._process = self._process, None
        if process and self._parent == os.getpid():
            process.kill()
            for stream in (process.stdin, process.stdout):
                _close(stream)
            process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process and self._parent == os.getpid() and self._process.poll() is None:
            return self._process
        self.close()
        atexit.unregister(self.close)
        atexit.register(self.close)
        paths = [*(path for path in sys.path if Path(path).is_absolute()), str(_PACKAGES)]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _MAIN.format(paths=paths)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # of a library that fails
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._parent = os.getpid()
        return self._process


def _exchange(process: subprocess.Popen[bytes], content: bytes, max_pages: int) -> bytes | None:
    """Send a file and return the reply; None if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        base, per_mebibyte = _SECONDS
        seconds, memory = base + len(content) * per_mebibyte // 2**20, _MEMORY + 4 * len(content)
        process.stdin.write(b"%d %d %d %d\n" % (len(content), max_pages, seconds, memory))
        process.stdin.write(content)
        process.stdin.flush()
    except OSError:
        return None
    length = process.stdout.read(_LENGTH_BYTES)
    reply = process.stdout.read(int.from_bytes(length, "little"))
    return reply if len(length) == _LENGTH_BYTES and len(reply) == int.from_bytes(length, "little") else None


def _failure(status: int) -> str:
    if status == _OUT_OF_TIME:
        return "must be read in a time that suits its size, but took longer; print it to a new PDF file"
    return "must be a PDF file that can be read in memory that suits its size; print it to a new one"


def _close(stream: IO[bytes] | None) -> None:
    with suppress(OSError):  # what is still to be written has no reader
        if stream:
            stream.close()
