"""Processes in which documents are read that may end their reader, hang it or fill the memory.

The limits of processor time and memory are those of one document, and hold for it and the programs that it needs. A
document that exceeds them ends its process; the next one has a new process.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from math import ceil
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any, Final, final

from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.documents.formats import load_format
from sumpool.errors import DataError
from sumpool.io.bounded import parse_json

_PACKAGES: Final = Path(__file__).parents[2]
_MAIN: Final = "import sys; sys.path[:] = {paths!r}; from sumpool.documents.worker import main; main()"
_LENGTH_BYTES: Final = 8
_SECONDS: Final = 8
"""Processor time of a document; papers and books take a tenth of this and the next."""
_SECONDS_PER_MEBIBYTE: Final = 20
_MEMORY: Final = 2**30
"""Address space beside four times the size of a file."""
_MAX_REPLY: Final = 2**30
_ADVICE: Final = "split it or convert it to text"
TOO_LONG: Final = f"must be read in a time that suits its size, but took longer; {_ADVICE}"
"""Message about a document that takes too long."""
TOO_LARGE: Final = f"must be a file that can be read in memory that suits its size; {_ADVICE}"
"""Message about a document that takes too much memory or ends its reader."""
_TOO_DEEP: Final = "must be nested less deeply, got more levels than can be read"


@final
class Workers:
    """Processes that read documents, each one at a time.

    A process is started for the first document, and for one that comes while the others are at work.
    """

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []
        self._parent = 0
        self._free = BoundedSemaphore(os.cpu_count() or 1)
        self._taking = Lock()

    def read(self, name: str, content: bytes, options: ReadOptions) -> ParsedDocument:
        """Read a document; for the arguments and errors see `formats.parse_content`."""
        with self._free:
            with self._taking:
                process = self._take()
            try:
                task = {
                    "name": name,
                    "size": len(content),
                    "seconds": _SECONDS + len(content) * _SECONDS_PER_MEBIBYTE // 2**20,
                    "memory": _MEMORY + 4 * len(content),
                    "options": asdict(options),
                }
                reply = _exchange(process, task, content)
                if reply is None:
                    raise ValueError(TOO_LONG if ran_out_of_time(process.wait()) else TOO_LARGE)
            except BaseException:  # also an interruption while the process is at work
                _end(process)
                raise
            self._idle.append(process)
        result = parse_json(reply, _MAX_REPLY)
        if "error" in result:
            raise (DataError if result["is_data_error"] else ValueError)(result["error"])
        blocks = tuple(TextBlock(*block) for block in result["blocks"])
        return ParsedDocument(blocks, result["title"], tuple(result["notes"]))

    def close(self) -> None:
        """End the processes and what they have started, if they are of this process."""
        while self._idle and self._parent == os.getpid():
            _end(self._idle.pop())

    def _take(self) -> subprocess.Popen[bytes]:
        """Return a process that is idle."""
        if self._parent != os.getpid():  # those of the process that this one is a copy of
            self._idle = []
            self._parent = os.getpid()
            atexit.unregister(self.close)
            atexit.register(self.close)
        while self._idle:
            process = self._idle.pop()
            if process.poll() is None:
                return process
            _end(process)
        paths = [*(path for path in sys.path if Path(path).is_absolute()), str(_PACKAGES)]
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _MAIN.format(paths=paths)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # of a library that fails
            start_new_session=True,  # so that the programs it starts end with it
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )


WORKERS: Final = Workers()
"""Processes of all formats."""


def _exchange(process: subprocess.Popen[bytes], task: dict[str, object], content: bytes) -> bytes | None:
    """Send a document and return the reply; None if the process has ended."""
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


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    elif process.poll() is None:  # the number of a process that has ended may be another's
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # what is still to be written has no reader
            if stream:
                stream.close()
    process.wait()


def main() -> None:
    """Read documents from stdin until its end, in the process of its own.

    A document follows a line of JSON with its size, its format and its limits. A reply is its length and a JSON object
    with `error`, or with `blocks`, `title` and `notes`.
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
    reader = load_format(task["name"])
    _limits[:] = _used_time() + task["seconds"], task["memory"]
    _limit(_used_time(own=True) + task["seconds"])
    try:
        document = reader.parse(content, ReadOptions(**task["options"]))
    except (ValueError, DataError) as error:
        return {"error": str(error), "is_data_error": isinstance(error, DataError)}
    except RecursionError:
        return {"error": _TOO_DEEP, "is_data_error": False}
    except MemoryError:
        return {"error": TOO_LARGE, "is_data_error": False}
    blocks = [(block.text, block.kind, block.level, block.page, block.line) for block in document.blocks]
    return {"blocks": blocks, "title": document.title, "notes": document.notes}


_limits: list[float] = []
"""Limits of the document that a worker reads: when it ends, in processor time of the process and its programs, and the
address space of each of them."""


def run_program(command: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a program on what is left of the time of the document.

    Args:
        command: Program and arguments.
        content: Standard input.
    """
    if not _limits:  # outside of a worker
        return subprocess.run(command, input=content, capture_output=True, check=False)
    left = _limits[0] - _used_time()
    limit = None if sys.platform == "win32" else partial(_limit, left)
    done = subprocess.run(command, input=content, capture_output=True, check=False, preexec_fn=limit)
    _limit(_used_time(own=True) + _limits[0] - _used_time())
    return done


def lift_limits() -> None:
    """Lift the limits of a program that this process starts, as far as its own were not set from outside."""
    if sys.platform == "win32":
        return
    import resource

    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (hard, hard))


def ran_out_of_time(status: int) -> bool:
    """Return whether a process has ended because it took more processor time than it may."""
    return sys.platform != "win32" and status == -signal.SIGXCPU


def _used_time(own: bool = False) -> float:
    """Return the processor time of this process, and of the programs that it has run."""
    times = os.times()
    return times.user + times.system + (0 if own else times.children_user + times.children_system)


def _limit(seconds: float) -> None:
    """Limit the processor time and the address space of this process."""
    if sys.platform == "win32":
        return
    import resource

    for kind, limit in ((resource.RLIMIT_CPU, max(1, ceil(seconds))), (resource.RLIMIT_AS, int(_limits[1]))):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
