"""Files that survive a crash: written beside, flushed to the disk, renamed into place."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from sumpool.data.files import sync
from sumpool.errors import ResourceError

TEMPORARY = ".tmp-"
"""How the name of everything half written begins."""
SPARE_BYTES = 1 << 20
"""Room for the small files that come with the large ones."""


def beside(path: Path) -> Path:
    """Name the half-written form of a file or a folder, on the same file system."""
    return path.with_name(f"{TEMPORARY}{path.name}")


def move(source: Path, target: Path) -> None:
    """Rename a flushed file or folder into place, for good."""
    os.replace(source, target)  # noqa: PTH105 - the tests fail every file operation through `os`
    sync(target.parent)


def replace(path: Path, content: bytes) -> None:
    """Give a file new content: at any moment, also after a crash, it holds all of the old or all of the new."""
    half = beside(path)
    half.write_bytes(content)
    sync(half)
    move(half, path)


def remove_half_written(folder: Path) -> None:
    """Remove what a crash left half written, by us or by safetensors, which writes to `.tmp` and six letters first."""
    for path in folder.glob(".tmp*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def require_space(folder: Path, size: int) -> None:
    """Refuse to begin writing what the disk cannot hold.

    Args:
        folder: Where it would be written.
        size: Bytes.

    Raises:
        ResourceError: If there is less room.
    """
    free = shutil.disk_usage(folder).free
    needed = size + SPARE_BYTES
    if free < needed:
        raise ResourceError(
            f"{folder.parent} must have {needed:,} bytes free, got {free:,}: make room on the disk and start again; "
            "what was saved before is untouched"
        )


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Turn a failure of the disk into a sentence.

    Raises:
        ResourceError: If the block meets an error of the operating system, such as a full disk.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise ResourceError(
            f"{path} must be written whole, got: {error}. Make room on the disk and start again; "
            "what was saved before is untouched"
        ) from error
