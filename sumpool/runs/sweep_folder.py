"""Folder of a sweep: the folders of its runs, and its tables with a manifest."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sumpool.errors import DataError, RecipeError
from sumpool.io.atomic import disk_errors, temporary_path
from sumpool.io.listed_files import replace_listed_file
from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import Manifest
from sumpool.io.replaceable import other_content

TABLES = ("table.md", "table.json")


def require_sweep_folder(folder: Path) -> None:
    """Check that a folder may hold a sweep: it is new, empty, or has the manifest of a sweep, which its tables fit.

    Raises:
        RecipeError: If it is a file or holds something else; nothing is changed.
    """
    reason = other_content(folder, "sweep") or _difference(folder)
    if reason:
        raise RecipeError(
            f"{folder} must be new, empty or the folder of a sweep, got {reason}: name another with --out"
        )


@contextmanager
def locked_sweep(folder: Path) -> Iterator[None]:
    """Check the folder of a sweep, and lock it for a block.

    Raises:
        RecipeError: If it is a file or holds something else, or another process runs a sweep there.
    """
    require_sweep_folder(folder)
    with disk_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    with locked_for_writing(folder, "name another with --out"):
        yield


def claim_sweep(folder: Path) -> None:
    """Make the folder of a sweep, checked by `require_sweep_folder`, or leave that of a sweep as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / MANIFEST).exists():
        Manifest({}, kind="sweep").write(folder)


def save_tables(folder: Path, tables: Mapping[str, str]) -> None:
    """Replace the tables of a sweep, by file name, together with their entries in the manifest.

    Raises:
        DataError: If the manifest is damaged.
        OSError: If the disk fails; the tables are as they were.
    """
    for name, text in tables.items():
        temporary_path(folder / name).write_text(text, "utf-8")
        replace_listed_file(folder / name, {}, "sweep")


def _difference(folder: Path) -> str:
    """Return why the tables of a sweep do not fit its manifest; empty if they do, or there is no manifest."""
    if not (folder / MANIFEST).exists():
        return ""
    manifest = Manifest.read(folder, "sweep")
    try:
        manifest.verify(folder, manifest.files)
    except DataError as error:
        return str(error)
    unlisted = [name for name in TABLES if os.path.lexists(folder / name) and not manifest.accepted(name)]
    return unlisted[0] if unlisted else ""
