"""Folder of a sweep: the folders of its runs, and its tables with a manifest."""

from collections.abc import Mapping
from pathlib import Path

from sumpool.errors import DataError, RecipeError
from sumpool.io.atomic import TEMPORARY, temporary_path
from sumpool.io.listed_files import replace_listed_file
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import Manifest

TABLES = ("table.md", "table.json")


def require_sweep_folder(folder: Path) -> None:
    """Check that a folder may hold a sweep: it is new, empty, or has the manifest of a sweep, which its tables fit.

    Raises:
        RecipeError: If it is a file or holds something else; nothing is changed.
    """
    if folder.is_dir():
        names = sorted({path.name for path in folder.iterdir()} - {f"{TEMPORARY}{MANIFEST}"})
        reason = _difference(folder, names) if names else ""
    else:
        reason = "a file" if folder.exists() or folder.is_symlink() else ""
    if reason:
        raise RecipeError(
            f"{folder} must be new, empty or the folder of a sweep, got {reason}: name another with --out"
        )


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


def _difference(folder: Path, names: list[str]) -> str:
    """Return why a folder with these files is not that of a sweep; empty if it is."""
    if MANIFEST not in names:
        return names[0]
    try:
        manifest = Manifest.read(folder, "sweep")
        manifest.verify(folder, manifest.files)
    except DataError as error:
        return str(error)
    unlisted = [name for name in TABLES if name in names and not manifest.accepted(name)]
    return unlisted[0] if unlisted else ""
