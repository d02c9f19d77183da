"""A folder that appears whole or not at all, made by one process at a time."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sumpool.data.files import sync
from sumpool.errors import ResourceError
from sumpool.interruption import Check

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_WAIT = 0.1
"""Seconds between looks whether another process is done."""


@contextmanager
def alone(folder: Path, check: Check) -> Iterator[None]:
    """Wait until no other process makes this folder; the system lets go when a process ends, however it ends."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _beside(folder, "lock").open("wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                check()
                time.sleep(_WAIT)
        yield


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Make a folder under another name, and give it its own when everything in it is safe on the disk.

    Hold `alone` meanwhile. An older folder of the name is replaced; whatever fails leaves it as it was.

    Args:
        folder: Where the result will be.

    Yields:
        The folder to fill.
    """
    new, old = _beside(folder, "new"), _beside(folder, "old")
    shutil.rmtree(new, ignore_errors=True)  # left by a process that was killed
    shutil.rmtree(old, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        for path in (*new.rglob("*"), new):
            sync(path)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        sync(folder.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a full disk into a sentence.

    Raises:
        ResourceError: If a write in the block found no room.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise ResourceError(
            f"{folder} must have room on its disk, got: {os.strerror(error.errno)}; make room, or name a folder on "
            "another disk as data.prepared. What was prepared before is untouched"
        ) from error


def _beside(folder: Path, purpose: str) -> Path:
    return folder.with_name(f".{folder.name}.{purpose}")
