"""Fingerprint of prepared data: a digest of everything that the data depends on, kept in the folder's manifest."""

import hashlib
import json
from pathlib import Path

import sumpool
from sumpool.data.config import DataConfig
from sumpool.errors import DataError
from sumpool.io.manifest import NAME, FileDigest, Manifest
from sumpool.progress import Check
from sumpool.text.load import tokenizer_files

_SCHEMA = 1


def fingerprint(config: DataConfig) -> str:
    """Return a digest of what prepared data depends on: settings, source files (names, sizes, times), version."""
    source = config.require_source()
    about = {
        "schema": _SCHEMA,
        "sumpool": sumpool.__version__,
        "source": source.model_dump(mode="json"),
        **({"tokenizer": _digest(config.tokenizer)} if config.tokenizer else {"vocabulary": config.vocabulary}),
        **({"phrases": config.phrases} if config.phrases else {}),  # absent, so that older fingerprints stay valid
        **config.model_dump(mode="json", include={"shuffled", "gap_sentences"}, exclude_none=True),
        "files": [_file_state(path) for path in source.files()],
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def write_manifest(folder: Path, fingerprint: str, check: Check) -> None:
    """Write the manifest of a folder of prepared data that is otherwise complete."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): FileDigest.of(path, check) for path in paths}
    Manifest(files, {"fingerprint": fingerprint}, kind="prepared data").write(folder)


def is_intact(folder: Path, fingerprint: str, check: Check) -> bool:
    """Return whether a folder was prepared under a fingerprint and is still as it was written, to the byte."""
    try:
        manifest = Manifest.read(folder, "prepared data")
        if not manifest.files or manifest.facts.get("fingerprint") != fingerprint:
            return False
        manifest.verify(folder, manifest.files, check)
    except DataError:
        return False
    return True


def is_prepared_folder(folder: Path) -> bool:
    """Return whether a folder holds prepared data of any fingerprint."""
    return (folder / NAME).is_file()


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
