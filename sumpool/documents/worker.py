"""Processes in which documents are read, whatever their format, so that a document ends at most its own process.

Every content has one budget, which grows with its bytes: processor time and memory of the process and of the programs
that it needs, and characters of each document. One that exceeds it has a reason; the next one has a new process.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from math import ceil
from pathlib import Path
from threading import BoundedSemaphore, Lock
from time import process_time
from typing import Any, Final, final

from sumpool.documents.document import Document, ReadOptions, TextBlock
from sumpool.errors import DataError, ResourceError
from sumpool.io.bounded import parse_json

_PACKAGES: Final = Path(__file__).parents[2]
_MAIN: Final = "import sys; sys.path[:] = {paths!r}; from sumpool.documents.worker import main; main()"
_LENGTH_BYTES: Final = 8
_LAST: Final = b"\xff" * _LENGTH_BYTES
"""Length behind the last document of a process that ends."""
_SECONDS: Final = 4
"""Processor time of a content; with the next, a DOCX file of 550,000 words in 2 MiB takes 7 of 14 s."""
_SECONDS_PER_MEBIBYTE: Final = 5
_MEMORY: Final = 3 * 2**28
"""Address space beside eight times the bytes of a content."""
_MEMORY_PER_BYTE: Final = 8
_CHARACTERS: Final = 2**23
"""Characters of a document beside eight for each byte of the content; packed prose has four."""
_CHARACTERS_PER_BYTE: Final = 8
TOO_LONG: Final = "must be read in a time that suits its size, but took longer; split it or convert it to text"
"""Message about a document that takes too long."""
TOO_LARGE: Final = "must be a file that can be read in memory that suits its size; split it or convert it to text"
"""Message about a document that takes too much memory or ends its reader."""
_TOO_MUCH: Final = "must hold text that suits its size, got {:,} characters in {:,} bytes; unpack it or split it"

_limits: list[float] = []
"""Limits of the content that this process reads: when it ends, in processor time of the process and its programs, and
the address space of each of them."""


@final
class Workers:
    """Processes that read documents, each one at a time.

    A process is started for the first content, and for one that comes while the others are at work.
    """

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []
        self._parent = 0
        self._free = BoundedSemaphore(os.cpu_count() or 1)
        self._taking = Lock()

    def read(
        self, name: str, subject: str, suffix: str, content: bytes, options: ReadOptions, is_address: bool = False
    ) -> Iterator[Document]:
        """Read the documents of a content.

        Args:
            name: Name of the content, or the address that the process reads it from.
            subject: What messages call it.
            suffix: Suffix of its format in lower case.
            content: The content, which may be compressed; empty for an address.
            options: Options of reading.
            is_address: Whether the name is an address.

        Raises:
            ResourceError: If no process can be started.
        """
        task = {
            "name": name, "subject": subject, "suffix": suffix, "size": len(content), "options": asdict(options),
            "is_address": is_address,
        }  # fmt: skip
        documents = self._documents(task, content)
        # Not held while the caller has a document, which it may keep for ever. The second one is asked for at once, so
        # that the process of a single document is free before the document is used.
        with self._free:
            document, following = next(documents, None), next(documents, None)
        while document:
            yield document
            if document := following:
                with self._free:
                    following = next(documents, None)

    def _documents(self, task: dict[str, Any], content: bytes) -> Iterator[Document]:
        """Yield the documents of a content from a process, which is idle behind the last one or has ended."""
        with self._taking:
            process = self._take()
        is_idle = is_full = False
        try:
            for document in _exchange(process, task, content):
                is_full |= document.error.endswith(TOO_LARGE)
                yield document
            is_idle = process.poll() is None and not is_full
        finally:  # also after an interruption while the process is at work
            if is_idle:
                self._idle.append(process)
            else:
                _end(process)

    def prepare(self) -> None:
        """Start a process for the first content while this process does something else."""
        with suppress(ResourceError), self._taking:  # `read` tells why none can be started
            process = self._take()
            self._idle.append(process)

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
        # A thread of a library takes 64 MiB of the address space with an arena of its own.
        alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), "1")
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-c", _MAIN.format(paths=paths)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # of a library that fails
                start_new_session=True,  # so that the programs it starts end with it
                env={**os.environ, **alone, "ARROW_DEFAULT_MEMORY_POOL": "system"},
            )
        except OSError as error:
            raise ResourceError(
                f"a process that reads documents must be started, got: {error.strerror}; end other processes"
            ) from error


WORKERS: Final = Workers()
"""Processes of all formats."""


def _exchange(process: subprocess.Popen[bytes], task: dict[str, Any], content: bytes) -> Iterator[Document]:
    """Send a content and yield its documents; the last is an error if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # of a process that has ended
        process.stdin.write(json.dumps(task).encode() + b"\n")
        process.stdin.write(content)
        process.stdin.flush()
    has_reason = False
    while len(length := process.stdout.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        if not (size := int.from_bytes(length, "little")):
            return
        if length == _LAST:
            process.wait()
            return
        reply = process.stdout.read(size)
        if len(reply) < size:
            break
        found = parse_json(reply, size)
        has_reason = bool(found["error"]) and found["id"] == task["name"]
        blocks = tuple(TextBlock(*block) for block in found["blocks"])
        text = "\n\n".join(block.text for block in blocks) if blocks else found["text"]
        yield Document(found["id"], text, found["error"], found["title"], blocks, tuple(found["notes"]))
    why = TOO_LONG if ran_out_of_time(process.wait()) else TOO_LARGE
    if has_reason:  # of the whole content, after which nothing was to come
        return
    yield Document(task["name"], "", f"{task['subject']} {why}")


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

    A content follows a line of JSON with its size, name and options. A reply is the length and JSON of each document,
    and a length of zero behind the last. A process that has taken half of the memory of the next content ends.
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
            for reply in _replies(task, content):
                replies.write(len(reply).to_bytes(_LENGTH_BYTES, "little") + reply)
                replies.flush()
            is_large = _address_space() > _MEMORY / 2
            replies.write(_LAST if is_large else bytes(_LENGTH_BYTES))
            replies.flush()
            if is_large:
                return


def _replies(task: dict[str, Any], content: bytes) -> Iterator[bytes]:
    """Yield the documents of a content, or of what its address leads to, as JSON."""
    from sumpool.documents.read import documents_of  # which the other process has no use for

    name, subject, suffix, options = task["name"], task["subject"], task["suffix"], ReadOptions(**task["options"])
    _set_budget(len(content))
    if task["is_address"]:
        from sumpool.documents.addresses import fetch

        try:
            content, suffix = fetch(name, options.limits)
        except DataError as error:
            yield _encoded(Document(name, "", str(error)), subject, 0)
            return
        _set_budget(len(content))
    for document in documents_of(name, subject, suffix, content, options):
        yield _encoded(document, subject, len(content))


def _encoded(document: Document, subject: str, size: int) -> bytes:
    """Encode a document as a reply; one with too much text as an error."""
    if len(document.text) > _CHARACTERS + _CHARACTERS_PER_BYTE * size:
        document = Document(document.id, "", f"{subject} {_TOO_MUCH.format(len(document.text), size)}")
    reply = {
        "id": document.id, "text": "" if document.blocks else document.text, "error": document.error,
        "title": document.title, "notes": document.notes,
        "blocks": [(block.text, block.kind, block.level, block.page, block.line) for block in document.blocks],
    }  # fmt: skip
    return json.dumps(reply).encode()


def _set_budget(size: int) -> None:
    """Begin with the budget of a content of so many bytes."""
    seconds = _SECONDS + size * _SECONDS_PER_MEBIBYTE / 2**20
    _limits[:] = _used_time() + seconds, _MEMORY + _MEMORY_PER_BYTE * size
    _limit(process_time() + seconds)


def run_program(command: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a program on what is left of the budget of the content.

    Args:
        command: Program and arguments.
        content: Standard input.
    """
    if not _limits:  # outside of a worker
        return subprocess.run(command, input=content, capture_output=True, check=False)
    left = _limits[0] - _used_time()
    limit = None if sys.platform == "win32" else partial(_limit, left)
    done = subprocess.run(command, input=content, capture_output=True, check=False, preexec_fn=limit)
    _limit(process_time() + _limits[0] - _used_time())
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


def _address_space() -> int:
    """Return the bytes of the address space of this process, 0 where the system does not tell."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _used_time() -> float:
    """Return the processor time of this process and of the programs that it has run."""
    return sum(os.times()[:4])


def _limit(seconds: float) -> None:
    """Limit the processor time and the address space of this process."""
    if sys.platform == "win32":
        return
    import resource

    for kind, limit in ((resource.RLIMIT_CPU, max(1, ceil(seconds))), (resource.RLIMIT_AS, int(_limits[1]))):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
