"""Verification of prepared data where it is read: sizes every time, hashes once per machine and change.

A file whose hash has been compared is kept in the cache folder of the user by its path, size, times and inode.
Where that folder cannot be written or its content is damaged, every file is hashed.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sumpool.io.atomic import replace_file
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.manifest import Manifest
from sumpool.progress import Check, no_op

CACHE = "SUMPOOL_CACHE"
"""Environment variable that names the cache folder; by default ~/.cache/sumpool."""
SETTLED_SECONDS = 2.0
"""Age of a change after which the next one gets another time on every file system."""

_State = list[int | str]


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
    cached = {} if full else _read(cache)
    verified: dict[str, _State] = {}
    for name, digest in manifest.files.items():
        state = _state(folder / name, digest.sha256)
        if state[0] != digest.size or state != cached.get(name):
            manifest.verify(folder, [name], check)
            if state != _state(folder / name, digest.sha256) or _is_recent(folder / name):
                continue
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


def _read(cache: Path) -> Mapping[str, _State]:
    """Read the cached states; empty if there are none or the file is damaged."""
    try:
        files = parse_json(read_regular(cache))["files"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}


def _state(path: Path, sha256: str) -> _State:
    """Return what changes with the content of a file, its size first; a missing file has no size."""
    try:
        status = path.stat()
    except OSError:
        return [-1]
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev, sha256]


def _is_recent(path: Path) -> bool:
    """Return whether a change at this moment could leave the time of a file as it is."""
    return time.time() - path.stat().st_mtime < SETTLED_SECONDS
