"""Reader of PDF files in a process of its own, which a file may bring down or stop by its limits of time and memory."""

import json
import os
import signal
import sys
from math import ceil
from typing import Final

from sumpool.documents.document import ParsedDocument
from sumpool.documents.pdf.document import read_pdf

LENGTH_BYTES: Final = 8
"""Size of the length before a reply."""
OUT_OF_MEMORY: Final = "must be a PDF file that can be read in memory that suits its size; print it to a new one"


def main() -> None:
    """Read files from stdin until its end.

    A file follows a line with its size, the greatest number of pages, and its limits: seconds of processor time, and
    bytes of address space. A reply is its length and a JSON object with `error`, or with `blocks`, `title` and `notes`.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # those of the terminal; the end of stdin ends this process
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        while line := sys.stdin.buffer.readline():
            size, max_pages, seconds, memory = map(int, line.split())
            content = sys.stdin.buffer.read(size)
            if len(content) < size:
                return
            _limit(seconds, memory)
            reply = json.dumps(_read(content, max_pages)).encode()
            replies.write(len(reply).to_bytes(LENGTH_BYTES, "little") + reply)
            replies.flush()


def to_json(document: ParsedDocument) -> dict[str, object]:
    """Return a document as JSON."""
    blocks = [(block.text, block.kind, block.level, block.page, block.line) for block in document.blocks]
    return {"blocks": blocks, "title": document.title, "notes": document.notes}


def _read(content: bytes, max_pages: int) -> dict[str, object]:
    try:
        return to_json(read_pdf(content, max_pages))
    except ValueError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": OUT_OF_MEMORY}


def _limit(seconds: int, memory: int) -> None:
    """Limit the processor time and the address space of this process for the next file."""
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = ceil(usage.ru_utime + usage.ru_stime)
    for kind, limit in ((resource.RLIMIT_CPU, used + seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
