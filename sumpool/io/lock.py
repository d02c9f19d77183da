"""Locks between processes; the operating system releases the lock of a process that ends, however it ends."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

HOLDER_SUFFIX = ".pid"
"""Suffix of the file with the id of the holding process; on Windows other processes cannot read the lock file."""
_POLL_SECONDS = 0.1


@contextmanager
def locked(path: Path, on_busy: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock for the duration of a block.

    Args:
        path: The lock file, which is removed after the block.
        on_busy: Called with the id of the holding process ("unknown" at worst) as long as another process holds the
            lock; returns to keep waiting or raises to give up.
    """
    lock, holder = FileLock(path), path.with_name(path.name + HOLDER_SUFFIX)
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            on_busy(_read_holder(holder))
            time.sleep(_POLL_SECONDS)
    try:
        holder.write_text(f"{os.getpid()}\n")
        yield
    finally:
        for used in (holder, path):  # while it is held: who waits for the removed file starts over with a new one
            with suppress(OSError):  # Windows removes no open file, and its lock removes the file itself
                used.unlink(missing_ok=True)
        lock.release()


def _read_holder(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip() or "unknown"
    except OSError:
        return "unknown"
