"""Process in which libraries read files that may end them, hang them or fill the memory.

It is started for the first such file, and again after one that ended it. Its limits of processor time and memory are
those of the file, and hold for the programs that it starts.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from math import ceil
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final, final

from sumpool.documents.document import ParsedDocument, TextBlock
from sumpool.io.bounded import parse_json

_PACKAGES = Path(__file__).parents[2]
_MAIN = "import sys; sys.path[:] = {paths!r}; from sumpool.documents.worker import main; main()"
OUT_OF_TIME: Final = -getattr(signal, "SIGXCPU", 0)
"""Status of a process that has taken more processor time than it may."""
_LENGTH_BYTES: Final = 8
_SECONDS: Final = 4
"""Processor time of a file; papers and books take a tenth of this and the next."""
_SECONDS_PER_MEBIBYTE: Final = 20
_MEMORY: Final = 1 << 30
"""Address space beside four times the size of a file."""
_MAX_REPLY: Final = 1 << 30
TOO_LONG: Final = "must be read in a time that suits its size, but took longer"
"""Message about a file that takes too long, without what to do."""
TOO_LARGE: Final = "must be a file that can be read in memory that suits its size"
"""Message about a file that takes too much memory or ends its reader, without what to do."""
_TOO_DEEP: Final = "must be nested less deeply, got more levels than can be read"


@final
class Worker:
    """Process that reads files, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._parent = 0
        self._lock = Lock()

    def read(
        self,
        reader: str,
        content: bytes,
        advice: str,
        arguments: Mapping[str, object] | None = None,
        seconds: int | None = None,
    ) -> ParsedDocument:
        """Read a file.

        Args:
            reader: Function that reads it, as `module:name`; it is given the content and the arguments by name.
            content: Content of the file.
            advice: What to do about a file that takes too much, for the message.
            arguments: Arguments that JSON can hold.
            seconds: Processor time beside that for the size of the file; None for the usual.

        Raises:
            ValueError: As the function, or if the file takes more time or memory than suits its size or ends the
                process by a fault; the message lacks the subject.
        """
        with self._lock:
            process = self._running()
            try:
                task = {
                    "reader": reader,
                    "size": len(content),
                    "seconds": (seconds or _SECONDS) + len(content) * _SECONDS_PER_MEBIBYTE // 2**20,
                    "memory": _MEMORY + 4 * len(content),
                    "arguments": arguments or {},
                }
                reply = _exchange(process, task, content)
                if reply is None:
                    raise ValueError(f"{TOO_LONG if process.wait() == OUT_OF_TIME else TOO_LARGE}; {advice}")
            except BaseException:  # also an interruption while the process is at work
                self.close()
                raise
        result = parse_json(reply, _MAX_REPLY)
        if "error" in result:
            raise ValueError(result["error"] or f"{TOO_LARGE}; {advice}")
        blocks = tuple(TextBlock(*block) for block in result["blocks"])
        return ParsedDocument(blocks, result["title"], tuple(result["notes"]))

    def close(self) -> None:
        """End the process and what it has started, if it is one of this process."""
        process, self._process = self._process, None
        if process and self._parent == os.getpid():
            _kill(process)
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
            start_new_session=True,  # so that the programs it starts end with it
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._parent = os.getpid()
        return self._process


WORKER: Final = Worker()
"""Process of all formats."""


def _exchange(process: subprocess.Popen[bytes], task: Mapping[str, object], content: bytes) -> bytes | None:
    """Send a file and return the reply; None if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(task).encode() + b"\n")
        process.stdin.write(content)
        process.stdin.flush()
    except OSError:
        return None
    length = process.stdout.read(_LENGTH_BYTES)
    reply = process.stdout.read(int.from_bytes(length, "little"))
    return reply if len(length) == _LENGTH_BYTES and len(reply) == int.from_bytes(length, "little") else None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    elif process.poll() is None:  # the number of a process that has ended may be another's
        os.killpg(process.pid, signal.SIGKILL)


def _close(stream: IO[bytes] | None) -> None:
    with suppress(OSError):  # what is still to be written has no reader
        if stream:
            stream.close()


def main() -> None:
    """Read files from stdin until its end, in the process of its own.

    A file follows a line of JSON with its size, its reader and its limits. A reply is its length and a JSON object with
    `error`, empty where memory is out, or with `blocks`, `title` and `notes`.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # those of the terminal; the end of stdin ends this process
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        while line := sys.stdin.buffer.readline():
            task = parse_json(line)
            content = sys.stdin.buffer.read(task["size"])
            if len(content) < task["size"]:
                return
            reply = json.dumps(_read(task, content)).encode()
            replies.write(len(reply).to_bytes(_LENGTH_BYTES, "little") + reply)
            replies.flush()


def _read(task: dict[str, Any], content: bytes) -> dict[str, object]:
    module, _, name = task["reader"].partition(":")
    reader = getattr(import_module(module), name)
    _limits[:] = task["seconds"], task["memory"]
    limit_process()
    try:
        document: ParsedDocument = reader(content, **task["arguments"])
    except ValueError as error:
        return {"error": str(error)}
    except RecursionError:
        return {"error": _TOO_DEEP}
    except MemoryError:
        return {"error": ""}
    blocks = [(block.text, block.kind, block.level, block.page, block.line) for block in document.blocks]
    return {"blocks": blocks, "title": document.title, "notes": document.notes}


_limits: list[int] = []
"""Processor time and address space of the file that is being read."""


def limit_process() -> None:
    """Limit this process, or a program that it starts, to the processor time and address space of the file."""
    if sys.platform == "win32":
        return
    import resource

    seconds, memory = _limits
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = ceil(usage.ru_utime + usage.ru_stime)
    for kind, limit in ((resource.RLIMIT_CPU, used + seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
