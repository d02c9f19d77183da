"""Folders of prepared data: found by what the data is made from and not by a name, verified where they are read.

The fingerprint of prepared data is a digest of everything that it depends on. The manifest of its folder has three
facts about its origin: `fingerprint` with the modification times of the source files, which is compared first,
`without_times`, and `source`, the digest of the content of the files, which decides where only the times differ.

Sizes of files are compared every time, hashes once per machine and change: a file whose hash has been compared is kept
in the cache folder of the user by its path, size, times and inode. Where that folder cannot be written or its content
is damaged, every file is hashed.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import sumpool
from sumpool.data.config import PreparedDataConfig
from sumpool.errors import DataError, RecipeError
from sumpool.io.atomic import disk_errors, replace_file, replace_folder
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.lock import LOCK_SUFFIX, locked
from sumpool.io.manifest import NAME, FileDigest, Manifest
from sumpool.io.replaceable import require_replaceable
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.text.tokenizer import tokenizer_files

_SCHEMA = 1
CACHE = "SUMPOOL_CACHE"
"""Environment variable that names the cache folder; by default ~/.cache/sumpool."""
SETTLED_SECONDS = 2.0
"""Age of a change after which the next one gets another time on every file system."""
OTHER_FOLDER = "move it away, or set data.prepared to another folder"
"""Advice about a folder with other content."""
_OTHER_DISK = "prepare again, or name a folder on another disk as data.prepared"
_NAMED_DIGITS = 8
"""Digits of a fingerprint in the name of a folder."""
_State = list[int | str]
"""What changes with the content of a file, and the hash that has been compared."""


def find_or_prepare(
    config: PreparedDataConfig, default: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> Path:
    """Return the folder of the data of a source under the settings, prepared unless it has been.

    The folder appears once the data is complete. If another process is preparing it, wait for it.

    Args:
        config: Source and settings.
        default: Folder for new data if `config.prepared` names none. The folder of other data is kept, and new data
            goes beside it.
        skip_bad_rows: Whether to skip rows that cannot be used and list them in `rejects.jsonl`.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.

    Raises:
        DataError: If a row cannot be used, a split has too little text, or `data.tokenizer` holds no tokenizer.
        RecipeError: If the folder has other content, which is left untouched, or the vocabulary of the tokenizer is not
            that of the settings.
        ResourceError: If memory or disk space runs out.
        Interrupted: If a signal has come; nothing incomplete is left.
    """
    preferred = config.prepared or default
    if preferred.name in ("", ".."):
        preferred = preferred.resolve()  # names beside it can be formed
    folder = find_prepared(config, preferred, check)  # read-only data needs no lock
    if folder is None:
        preferred.parent.mkdir(parents=True, exist_ok=True)
        announced: set[str] = set()

        def wait(holder: str) -> None:
            if holder.isdecimal() and holder not in announced:
                announced.add(holder)
                report(Progress("prepare", note=f"waiting for process {holder}, which is writing {preferred}"))
            check()

        same_data, same_name = (
            locked(preferred.with_name(f".{name}{LOCK_SUFFIX}"), wait)
            for name in (fingerprint(config)[:_NAMED_DIGITS], preferred.name)
        )
        with disk_errors(preferred, advice=_OTHER_DISK, only_full=True), same_data, same_name:
            folder = find_prepared(config, preferred, check)
            if folder is None:
                folder = _beside(config, preferred) if read_origin(preferred) else preferred
                require_replaceable(folder, "prepared data", OTHER_FOLDER, check)
                facts = {
                    "fingerprint": fingerprint(config),
                    "without_times": fingerprint(config, times=False),
                    "source": source_digest(config, check),
                }
                with replace_folder(folder) as new:
                    config.prepare(new, skip_bad_rows=skip_bad_rows, report=report, check=check)
                    write_manifest(new, facts, check)
    if folder != preferred:
        report(Progress("prepare", note=f"the prepared data of these documents and settings is {folder}"))
    return folder


def find_prepared(config: PreparedDataConfig, preferred: Path, check: Check) -> Path | None:
    """Return the folder whose data was made from the source under the settings; None if there is none.

    Without `config.prepared` all folders beside the preferred one are considered.

    Args:
        config: Source and settings.
        preferred: Folder for new data.
        check: Called while files are hashed.

    Raises:
        RecipeError: If the data in the folder is damaged.
    """
    digest = fingerprint(config)
    folders = (
        [preferred, _beside(config, preferred)] if config.prepared else [preferred, *prepared_folders(preferred.parent)]
    )
    origins = {folder: read_origin(folder) for folder in folders}
    folder = next((folder for folder, facts in origins.items() if facts.get("fingerprint") == digest), None)
    if folder is None:
        without_times = fingerprint(config, times=False)
        candidates = [folder for folder, facts in origins.items() if facts.get("without_times") == without_times]
        source = source_digest(config, check) if candidates else ""
        same = [folder for folder in candidates if source and origins[folder].get("source") == source]
        if not same:
            return None
        folder = same[0]
        manifest = Manifest.read(folder, "prepared data")
        with suppress(OSError):  # where it is read-only, the files of the source are hashed every time
            Manifest(manifest.files, {**manifest.facts, "fingerprint": digest}, kind="prepared data").write(folder)
    try:
        verify_prepared(folder, full=config.verify, check=check)
    except DataError as error:
        raise RecipeError(f"{folder} must be prepared data as it was written, got: {error}; {OTHER_FOLDER}") from error
    return folder


def fingerprint(config: PreparedDataConfig, *, times: bool = True) -> str:
    """Return a digest of what prepared data depends on: settings, source files (names, sizes, times), version."""
    source, files = config.require_source(), list[tuple[str, int] | tuple[str, int, int]]()
    for path in source.files():
        try:
            status = path.stat()
        except OSError:
            size, time = -1, -1  # the source reports a missing file, in better words
        else:
            size, time = status.st_size, status.st_mtime_ns
        files.append((str(path), size, time) if times else (str(path), size))
    about = {"schema": _SCHEMA, "sumpool": sumpool.__version__, **config.described(), "files": files}
    if config.tokenizer:
        content = b""
        with suppress(OSError):  # loading the tokenizer reports a missing file
            content = b"".join(path.read_bytes() for path in tokenizer_files(config.tokenizer))
        about["tokenizer"] = hashlib.sha256(content).hexdigest()
    if source.revision:
        about["revision"] = source.revision
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _beside(config: PreparedDataConfig, preferred: Path) -> Path:
    return preferred.with_name(f"{preferred.name}-{fingerprint(config)[:_NAMED_DIGITS]}")


def prepared_folders(root: Path) -> list[Path]:
    """List the folders of prepared data in a folder, in alphabetical order."""
    return sorted(path.parent for path in root.glob(f"*/{NAME}") if read_origin(path.parent))


def read_origin(folder: Path) -> Mapping[str, str]:
    """Return the facts about the origin of prepared data; empty if the folder holds none."""
    try:
        return Manifest.read(folder, "prepared data").facts
    except DataError:
        return {}


def source_digest(config: PreparedDataConfig, check: Check) -> str:
    """Return a digest of the content of all source files; empty if a file cannot be read."""
    try:
        digests = [FileDigest.of(path, check).sha256 for path in config.require_source().files()]
    except OSError:
        return ""  # the source reports a missing file
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def verify_prepared(folder: Path, *, full: bool = False, check: Check = no_op) -> None:
    """Compare the files of prepared data with their manifest.

    Args:
        folder: The folder.
        full: Whether to hash the files that this machine has hashed before, too.
        check: Called after every mebibyte that is hashed.

    Raises:
        DataError: If the folder is no prepared data, or a file is missing or changed.
    """
    manifest = Manifest.read(folder, "prepared data")
    cache = _cache_file(folder)
    cached: dict[str, _State] = {}
    with suppress(OSError, ValueError, LookupError, TypeError):  # of no file, or a damaged one
        cached = {} if full else {**parse_json(read_regular(cache))["files"]}
    verified: dict[str, _State] = {}
    for name, digest in manifest.files.items():
        state = _verified_state(folder / name, digest.sha256)
        if state[0] != digest.size or state != cached.get(name):
            manifest.verify(folder, [name], check)
            age = time.time() - (folder / name).stat().st_mtime
            if state != _verified_state(folder / name, digest.sha256) or age < SETTLED_SECONDS:
                continue  # a change at this moment could leave the time of the file as it is
        verified[name] = state
    if verified != cached:
        with suppress(OSError):
            cache.parent.mkdir(parents=True, exist_ok=True)
            replace_file(cache, json.dumps({"folder": str(folder.resolve()), "files": verified}).encode())


def _cache_file(folder: Path) -> Path:
    root = os.environ.get(CACHE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "sumpool"
    name = hashlib.sha256(str(folder.resolve()).encode(errors="surrogatepass")).hexdigest()[:32]
    with suppress(RuntimeError):  # a user without a home
        root = Path(root).expanduser()
    return Path(root) / "verified" / f"{name}.json"


def _verified_state(path: Path, sha256: str) -> _State:
    """Return what changes with the content of a file, its size first; a missing file has no size."""
    try:
        status = path.stat()
    except OSError:
        return [-1]
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev, sha256]


def write_manifest(folder: Path, facts: Mapping[str, str], check: Check) -> None:
    """Write the manifest of a folder of prepared data that is otherwise complete."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): FileDigest.of(path, check) for path in paths}
    Manifest(files, facts, kind="prepared data").write(folder)


def content_digest(prepared: Path) -> str:
    """Return a digest of the files of prepared data, independent of where and when the data was prepared.

    Raises:
        DataError: If the folder has no manifest of prepared data.
    """
    files = Manifest.read(prepared, "prepared data").files
    entries = {name: {"sha256": digest.sha256, "size": digest.size} for name, digest in files.items()}
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def find_by_content(digest: str, root: Path) -> Path | None:
    """Return the folder of prepared data with a content digest; None if there is none in the folder."""
    return next((folder for folder in prepared_folders(root) if content_digest(folder) == digest), None)
