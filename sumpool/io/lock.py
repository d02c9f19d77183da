"""Locks between processes; the operating system releases the lock of a process that ends, however it ends."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sumpool.errors import RecipeError
from sumpool.io.atomic import disk_errors

LOCK_SUFFIX = ".lock"
"""Suffix of the lock file of a file or a folder, which stands beside it with a dot before its name."""
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
    from filelock import FileLock, Timeout  # most commands that print summaries lock nothing

    lock, holder = FileLock(path), path.with_name(path.name + HOLDER_SUFFIX)
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            name = ""
            with suppress(OSError):
                name = holder.read_text(errors="replace").strip()
            on_busy(name or "unknown")
            time.sleep(_POLL_SECONDS)
    try:
        holder.write_text(f"{os.getpid()}\n")
        yield
    finally:
        try:
            for used in (holder, path):  # while it is held: who waits for the removed file starts over with a new one
                with suppress(OSError):  # Windows removes no open file, and its lock removes the file itself
                    used.unlink(missing_ok=True)
        finally:  # also where a signal interrupts the removal
            lock.release()


@contextmanager
def locked_for_writing(path: Path, advice: str) -> Iterator[None]:
    """Lock a file or a folder for a block that writes it, by a lock file beside it.

    Devices and pipes, and paths without a folder to stand in, have no lock.

    Args:
        path: The file or folder.
        advice: What else to do than to wait for the other process.

    Raises:
        RecipeError: If another process writes it, or its parent cannot be written.
        ResourceError: If the disk is full or fails.
    """

    def refuse(holder: str) -> None:
        raise RecipeError(
            f"{path} must be written by one process at a time, but process {holder} is writing it: wait for it, "
            f"stop it, or {advice}"
        )

    with ExitStack() as stack:
        target = path.resolve()
        is_plain = path.is_file() or path.is_dir() or not path.exists()
        if is_plain and target.parent.is_dir():
            with disk_errors(path):
                stack.enter_context(locked(target.with_name(f".{target.name}{LOCK_SUFFIX}"), refuse))
        yield
