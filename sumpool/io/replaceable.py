"""Replacement of folders and files: a folder is replaced only if its manifest vouches for everything in it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.atomic import TEMPORARY, rename_synced, sync, temporary_path
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.manifest import NAME, FileDigest, Kind, Manifest
from sumpool.progress import Check, no_op

_FOLDERS_AROUND = 3
"""Folders from that of a file to one whose manifest may list it."""


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
    noun = "the results of an evaluation" if kind == "evaluation" else kind
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
    extra = sorted(
        name
        for name, path in entries.items()
        if name not in (folders if path.is_dir() and not path.is_symlink() else listed)
    )
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


def begin_folder(folder: Path, kind: Kind, facts: Mapping[str, Any] | None = None) -> None:
    """Make a folder with a manifest that lists no files yet; one that has a manifest stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / NAME).exists():
        Manifest({}, facts or {}, kind=kind).write(folder)


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


def require_writable(files: Mapping[str, Path | None]) -> None:
    """Make sure, before any work, that reports can be written to the files of options.

    Raises:
        RecipeError: If the folder of a file does not exist, or a manifest lists the file.
    """
    for option, path in files.items():
        if path is None:
            continue
        if not path.parent.is_dir() or path.is_dir():
            raise RecipeError(f"{option} must name a file in a folder that is there, got {path}")
        require_unlisted(path)


def replace_listed_file(path: Path, facts: Mapping[str, Any], kind: Kind = "run") -> None:
    """Replace a file of a folder together with its entry in the manifest.

    The manifest first lists the new digest beside the old one, then the file is renamed, then the old digest is
    dropped: after a crash at any moment the file matches the manifest, with all of the old or all of the new content.

    Args:
        path: The file; its new content has been written to `temporary_path(path)`.
        facts: Facts to add to the manifest, or to change in it.
        kind: Kind of the folder.

    Raises:
        CheckpointError: If the manifest of a run is damaged.
        DataError: The same for folders of other kinds.
        OSError: If the disk fails; the file is as it was.
    """
    folder, name, temporary = path.parent, path.name, temporary_path(path)
    manifest = Manifest.read(folder, kind)
    sync(temporary)
    new = FileDigest.of(temporary)
    files = dict(manifest.files)
    for listed in {name, *manifest.incoming}:  # an interrupted replacement may have left its incoming content
        if (folder / listed).exists() and (present := FileDigest.of(folder / listed)) in manifest.accepted(listed):
            files[listed] = present
    Manifest(files, manifest.facts, {name: new}, kind).write(folder)
    rename_synced(temporary, path)
    Manifest({**files, name: new}, {**manifest.facts, **facts}, kind=kind).write(folder)
