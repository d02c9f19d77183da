"""Fingerprint of prepared data: a digest of everything that the data depends on, kept in the folder's manifest.

The manifest has three facts about the origin of the data: `fingerprint` with the modification times of the source
files, which is compared first, `without_times`, and `source`, the digest of the content of the files, which decides
where only the times differ.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import sumpool
from sumpool.errors import DataError
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.progress import Check
from sumpool.text.load import tokenizer_files

_SCHEMA = 1


class SourceFiles(Protocol):
    """Source of the data of a recipe."""

    def files(self) -> Iterator[Path]:
        """List the files that are read."""

    def revision(self) -> int:
        """Return the number of the cleaning."""


class Preparable(Protocol):
    """The `data` section of a recipe."""

    @property
    def tokenizer(self) -> Path | None:
        """Folder whose tokenizer is used."""

    @property
    def prepared(self) -> Path | None:
        """Folder of the prepared data."""

    @property
    def verify(self) -> bool:
        """Whether to hash all files."""

    def require_source(self) -> SourceFiles:
        """Return the source."""

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on, the tokenizer left out."""


def fingerprint(config: Preparable, *, times: bool = True) -> str:
    """Return a digest of what prepared data depends on: settings, source files (names, sizes, times), version."""
    source = config.require_source()
    about = {
        "schema": _SCHEMA,
        "sumpool": sumpool.__version__,
        **config.described(),
        **({"tokenizer": _digest(config.tokenizer)} if config.tokenizer else {}),
        **({"revision": source.revision()} if source.revision() else {}),
        "files": [_file_state(path)[: 3 if times else 2] for path in source.files()],
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def source_digest(config: Preparable, check: Check) -> str:
    """Return a digest of the content of all source files; empty if a file cannot be read."""
    try:
        digests = [FileDigest.of(path, check).sha256 for path in config.require_source().files()]
    except OSError:
        return ""  # the source reports a missing file
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def origin(config: Preparable, check: Check) -> dict[str, str]:
    """Return the facts about the origin of prepared data for its manifest."""
    return {
        "fingerprint": fingerprint(config),
        "without_times": fingerprint(config, times=False),
        "source": source_digest(config, check),
    }


def write_manifest(folder: Path, facts: Mapping[str, str], check: Check) -> None:
    """Write the manifest of a folder of prepared data that is otherwise complete, with the facts of `origin`."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): FileDigest.of(path, check) for path in paths}
    Manifest(files, facts, kind="prepared data").write(folder)


def read_origin(folder: Path) -> Mapping[str, str]:
    """Return the facts about the origin of prepared data; empty if the folder holds none."""
    try:
        return Manifest.read(folder, "prepared data").facts
    except DataError:
        return {}


def content_digest(prepared: Path) -> str:
    """Return a digest of the files of prepared data, independent of where and when the data was prepared.

    Raises:
        DataError: If the folder has no manifest of prepared data.
    """
    files = Manifest.read(prepared, "prepared data").files
    entries = {name: {"sha256": digest.sha256, "size": digest.size} for name, digest in files.items()}
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _file_state(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), -1, -1  # the source reports a missing file, in better words
    return str(path), status.st_size, status.st_mtime_ns


def _digest(folder: Path) -> str:
    try:
        return hashlib.sha256(b"".join(path.read_bytes() for path in tokenizer_files(folder))).hexdigest()
    except OSError:
        return ""  # loading the tokenizer reports a missing file
