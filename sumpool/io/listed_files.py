"""Replacement of files that the manifest of their folder lists."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sumpool.io.atomic import rename_synced, sync, temporary_path
from sumpool.io.manifest import FileDigest, Kind, Manifest


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
    if path.exists() and (present := FileDigest.of(path)) in manifest.accepted(name):
        files[name] = present  # an interrupted replacement may have left its incoming content
    Manifest(files, manifest.facts, {name: new}, kind).write(folder)
    rename_synced(temporary, path)
    Manifest({**files, name: new}, {**manifest.facts, **facts}, kind=kind).write(folder)
