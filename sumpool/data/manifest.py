"""What a prepared folder holds and what it was made from, in `manifest.json`, the last file that is written."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sumpool
from sumpool.data.config import DataConfig
from sumpool.interruption import Check
from sumpool.text.tokenizer import tokenizer_file

NAME = "manifest.json"
_SCHEMA = 1
_BLOCK = 1 << 20


def fingerprint(config: DataConfig) -> str:
    """Sum up everything that prepared data depends on: settings, source files (names, sizes, times) and version."""
    source = config.documents()
    about = {
        "schema": _SCHEMA,
        "sumpool": sumpool.__version__,
        "source": source.model_dump(mode="json"),
        **({"tokenizer": _digest(config.tokenizer)} if config.tokenizer else {"vocabulary": config.vocabulary}),
        **({"phrases": config.phrases} if config.phrases else {}),  # data without them is what it was before them
        **config.model_dump(mode="json", include={"shuffled", "gap_sentences"}, exclude_none=True),
        "files": [_state(path) for path in source.files()],
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def write(folder: Path, fingerprint: str, check: Check) -> None:
    """Write the manifest of a folder that is otherwise complete."""
    files = {
        str(path.relative_to(folder)): _content(path, check) for path in sorted(folder.rglob("*")) if path.is_file()
    }
    manifest = {"schema": _SCHEMA, "fingerprint": fingerprint, "files": files}
    (folder / NAME).write_text(json.dumps(manifest, indent=1) + "\n")


def holds(folder: Path, fingerprint: str, check: Check) -> bool:
    """Whether a folder was made from what the fingerprint says and is still as it was written, to the byte."""
    files = _files(folder, fingerprint)
    return bool(files) and all(_is(folder / name, content, check) for name, content in files.items())


def is_prepared_folder(folder: Path) -> bool:
    """Whether a folder holds prepared data, whatever it was made from."""
    return (folder / NAME).is_file()


def _files(folder: Path, fingerprint: str) -> Mapping[str, Any]:
    try:
        manifest = json.loads((folder / NAME).read_bytes())
        if (manifest["schema"], manifest["fingerprint"]) != (_SCHEMA, fingerprint):
            return {}
        files: dict[str, Any] = dict(manifest["files"])
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return files


def _state(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), -1, -1  # the source says what is missing, and in better words
    return str(path), status.st_size, status.st_mtime_ns


def _digest(folder: Path) -> str:
    try:
        return hashlib.sha256(tokenizer_file(folder).read_bytes()).hexdigest()
    except OSError:
        return ""  # whoever loads it says what is missing


def _content(path: Path, check: Check) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            check()
        return {"size": file.tell(), "sha256": digest.hexdigest()}


def _is(path: Path, content: object, check: Check) -> bool:
    try:
        return _content(path, check) == content
    except OSError:
        return False
