"""Protection of other content: a folder is replaced only if its manifest vouches for everything in it."""

from collections.abc import Collection
from pathlib import Path

from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.atomic import TEMPORARY
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.manifest import NAME, Kind, Manifest
from sumpool.progress import Check, no_op

_FOLDERS_AROUND = 3
"""Folders from that of a file to one whose manifest may list it."""
_NOUNS: dict[Kind, str] = {"run": "a run", "evaluation": "the results of an evaluation", "sweep": "a sweep"}


def require_replaceable(folder: Path, kind: Kind, advice: str, check: Check = no_op) -> None:
    """Check that a folder may be replaced: it is new, empty, or holds what its manifest lists and no more.

    Args:
        folder: The folder.
        kind: Kind of the manifest.
        advice: What to do about another folder.
        check: Called after every mebibyte that is hashed.

    Raises:
        RecipeError: If it is a file, the working directory or a mount point, or has other content; nothing is changed.
    """
    if is_free(folder, advice):
        return
    noun = _NOUNS.get(kind, kind)
    if not (folder / NAME).exists():
        content = min(path.name for path in folder.iterdir())
        raise RecipeError(f"{folder} must be new, empty or {noun}, got other content ({content}, no {NAME}); {advice}")
    try:
        manifest = Manifest.read(folder, kind)
        manifest.verify(folder, manifest.files, check)
        entries = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    except (CheckpointError, DataError, OSError) as error:
        raise RecipeError(f"{folder} must be new, empty or {noun}, got other content ({error}); {advice}") from error
    listed = {*manifest.files, NAME, f"{TEMPORARY}{NAME}"}
    folders = {parent.as_posix() for name in listed for parent in Path(name).parents}
    extra = sorted(name for name, path in entries.items() if name not in (folders if _is_folder(path) else listed))
    if extra:
        raise RecipeError(f"{folder} must hold nothing but {noun} to be replaced, got {extra[0]}; {advice}")


def other_content(folder: Path, kind: Kind, ignored: Collection[str] = ()) -> str:
    """Return what a folder holds instead of the manifest of a kind; empty if it is new, empty, or has that manifest.

    Args:
        folder: The folder.
        kind: Kind of the manifest.
        ignored: Names of files that may stand there before the manifest.
    """
    if not folder.is_dir():
        return "a file" if folder.exists() or folder.is_symlink() else ""
    names = sorted({path.name for path in folder.iterdir()} - {f"{TEMPORARY}{NAME}", *ignored})
    if NAME not in names:
        return f"{names[0]}, no {NAME}" if names else ""
    try:
        Manifest.read(folder, kind)
    except (CheckpointError, DataError) as error:
        return str(error)
    return ""


def is_free(folder: Path, advice: str) -> bool:
    """Return whether a folder is new or empty.

    Raises:
        RecipeError: If it is a file, the working directory or a mount point, none of which can be replaced.
    """
    if not folder.exists():
        if folder.is_symlink():
            raise RecipeError(f"{folder} must be new or an empty folder, got a link to nothing; {advice}")
        return True
    if not folder.is_dir():
        raise RecipeError(f"{folder} must be new or an empty folder, got a file; {advice}")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise RecipeError(f"{folder} must not be the working directory or around it, as it is replaced; {advice}")
    if folder.is_mount():
        raise RecipeError(f"{folder} must be a folder that can be replaced, got a mount point; {advice}")
    return not any(folder.iterdir())


def require_unlisted(path: Path) -> None:
    """Check that a file to write is not one of a run, of prepared data or of another folder with a manifest.

    Raises:
        RecipeError: If a manifest in its folder, or in the two around that, lists the file.
    """
    if not path.is_file():
        return
    target = path.resolve()
    for folder in target.parents[:_FOLDERS_AROUND]:
        name = target.relative_to(folder).as_posix()
        try:
            is_listed = name in {*parse_json(read_regular(folder / NAME))["files"], NAME}
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if is_listed:
            raise RecipeError(f"{path} must not be a file that {folder / NAME} lists; name another file")


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
