"""Atomic replacement of files and folders: written beside, flushed to the disk, renamed into place."""

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from sumpool.errors import RecipeError, ResourceError

TEMPORARY = ".tmp-"
"""Prefix of the names of incomplete files and folders."""
SPARE_BYTES = 1 << 20
"""Bytes reserved for the small files that are saved along with the large ones."""
DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Error numbers of a full disk, of a full quota and of the largest file that a process may write."""
_UNUSABLE_PATH = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.EEXIST),
    *(errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
)
"""Errors that more room on the disk does not help against."""


class FullDiskError(OSError):
    """Write that the disk has no room for."""

    needed = SPARE_BYTES
    """Bytes that it takes at least."""


@contextmanager
def counted(path: Path, needed: int) -> Iterator[None]:
    """Convert the error of a full disk within the block to one that has the bytes that the block writes.

    Raises:
        FullDiskError: If the disk is full; has the bytes of an inner block too.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        # the library of safetensors names the number in its message
        number = next((number for number in DISK_FULL if f"(os error {number})" in str(error)), None)
        number = error.errno if isinstance(error, OSError) else number
        if number not in DISK_FULL:
            raise
        full = FullDiskError(number, os.strerror(number), str(path))
        full.needed = needed + (error.needed if isinstance(error, FullDiskError) else 0)
        raise full from error


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # Windows can neither open folders nor needs it: NTFS journals renames
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_path(path: Path) -> Path:
    """Return the path of the incomplete form of a file or a folder, on the same file system."""
    return path.with_name(f"{TEMPORARY}{path.name}")


def rename_synced(source: Path, target: Path) -> None:
    """Rename a flushed file or folder and flush the rename."""
    os.replace(source, target)  # noqa: PTH105 - the tests fail every file operation through `os`
    sync(target.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Replace the content of a file; at any moment, also after a crash, the old or the new content is complete.

    A device or a pipe, such as /dev/stdout, is written to as it is.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    temporary = temporary_path(path)
    try:
        with counted(path, len(content)):
            temporary.write_bytes(content)
            sync(temporary)
            rename_synced(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Fill a folder under a temporary name and rename it into place at the end of the block.

    An existing folder of the name is replaced; if the block fails, it stays as it was. Two processes must not replace
    the same folder at the same time.

    Args:
        folder: The folder, or a link to it; its parent is made if missing.

    Yields:
        The temporary folder to fill.
    """
    folder = folder.resolve()
    temporary = temporary_path(folder)
    restore_folder(folder)
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        move_into_place(temporary, folder)
    except (OSError, SafetensorError):
        written = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
        with counted(folder, written + SPARE_BYTES):
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def move_into_place(source: Path, folder: Path) -> None:
    """Flush a complete folder and rename it, in the place of an older one; if that fails, the older one stays."""
    for path in (*source.rglob("*"), source):
        sync(path)
    try:
        if folder.exists():
            os.replace(folder, _older(folder))  # noqa: PTH105
        rename_synced(source, folder)
    finally:
        restore_folder(folder)


def restore_folder(folder: Path) -> None:
    """Rename a folder back if a process was killed before it had replaced it, and delete it if it was replaced."""
    older = _older(folder)
    if older.exists() and not folder.exists():
        os.rename(older, folder)  # noqa: PTH104 - `os.replace` may be what failed
    shutil.rmtree(older, ignore_errors=True)


def _older(folder: Path) -> Path:
    """Return the temporary name of a folder that is being replaced."""
    return folder.with_name(f"{TEMPORARY}old-{folder.name}")


def remove(path: Path) -> None:
    """Delete a file, a folder, or a link but not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def remove_temporary(folder: Path) -> None:
    """Remove the temporary files and folders that a crash left, also those of safetensors (`.tmp` and six letters)."""
    for path in folder.glob(".tmp*"):
        remove(path)


def require_space(folder: Path, size: int) -> None:
    """Check that `size` bytes are free before a large write.

    Raises:
        ResourceError: If the disk has less free space.
    """
    free = shutil.disk_usage(folder).free
    needed = size + SPARE_BYTES
    if free < needed:
        raise ResourceError(
            f"{folder.parent} must have {needed:,} bytes free, got {free:,}: make room on the disk and start again; "
            "what was saved before is untouched"
        )


@contextmanager
def disk_errors(path: Path, *, advice: str = "start again", only_full: bool = False) -> Iterator[None]:
    """Convert errors of the disk, and of a path that cannot be written, to a sentence.

    Args:
        path: File or folder that the block writes.
        advice: What to do once there is room.
        only_full: Convert only errors of a full disk, and failures of the disk at no file that is known, for blocks
            that also read files.

    Raises:
        ResourceError: If the disk is full or fails.
        RecipeError: If the path is read-only, in a folder that is missing, or the name of something else.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        number = getattr(error, "errno", None)
        is_full = number in DISK_FULL
        is_unnamed = number == errno.EIO and getattr(error, "filename", None) is None
        if only_full and not is_full and not is_unnamed:
            raise
        if number in _UNUSABLE_PATH:
            raise RecipeError(
                f"{path} must be a path that can be written, got: {error}; correct it or its permissions"
            ) from error
        reason, remedy = getattr(error, "strerror", None) or error, advice
        if is_full:
            needed = getattr(error, "needed", SPARE_BYTES)
            reason, remedy = f"{reason}, {needed:,} bytes or more are needed", f"make room on the disk and {advice}"
        raise ResourceError(
            f"{path} must be written completely, got: {reason}; {remedy}; what was saved before is untouched"
        ) from error
