"""One training run per folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sumpool.errors import CheckpointError

LOCK = ".lock"


@contextmanager
def exclusive(run: Path) -> Iterator[None]:
    """Hold a run folder alone; the system lets go of the lock when the process ends, however it ends.

    Raises:
        CheckpointError: If another process holds it.
    """
    path = run / LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            raise CheckpointError(
                f"{run} must be used by one run at a time, but process {holder} is training there: "
                "wait for it, stop it, or give another folder with --out"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)
