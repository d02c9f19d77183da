"""Manifest of a folder: size and SHA-256 of every file, facts about the folder, and a digest of the manifest itself.

Neither safetensors nor `torch.save` detects a flipped bit in a tensor; a manifest does.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from sumpool.errors import CheckpointError, DataError, SumpoolError
from sumpool.progress import Check, go_on

NAME = "manifest.json"
SCHEMA = 2
Kind = Literal["run", "checkpoint", "prepared data", "evaluation", "sweep", "summaries"]
_ERRORS: Mapping[str, type[SumpoolError]] = {"run": CheckpointError, "checkpoint": CheckpointError}
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class FileDigest:
    """Size in bytes and SHA-256 of a file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, check: Check = go_on) -> "FileDigest":
        """Measure a file; `check` is called after every mebibyte."""
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
                check()
            return cls(file.tell(), digest.hexdigest())

    @classmethod
    def of_bytes(cls, content: bytes) -> "FileDigest":
        """Measure the content of a file."""
        return cls(len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True)
class Manifest:
    """The files of a folder.

    Attributes:
        files: Digest of each file by its path within the folder.
        facts: Further facts about the folder, as JSON.
        incoming: Digests that a file may already have: a new digest is recorded before the rename that brings the new
            file, so that no crash leaves a file that contradicts its manifest.
        kind: Kind of the folder.
    """

    files: Mapping[str, FileDigest]
    facts: Mapping[str, Any] = field(default_factory=dict)
    incoming: Mapping[str, FileDigest] = field(default_factory=dict)
    kind: Kind = "run"

    def write(self, folder: Path) -> None:
        """Write the manifest into its folder, atomically."""
        entries = {
            "kind": self.kind,
            "schema": SCHEMA,
            "facts": self.facts,
            "files": {name: asdict(digest) for name, digest in self.files.items()},
            "incoming": {name: asdict(digest) for name, digest in self.incoming.items()},
        }
        # Imported by name, as most manifests are only read.
        import_module("sumpool.io.atomic").replace_file(folder / NAME, _render(entries))

    @classmethod
    def read(cls, folder: Path, kind: Kind = "run") -> "Manifest":
        """Read the manifest of a folder of the expected kind.

        Raises:
            CheckpointError: If a run or a checkpoint has no manifest, a damaged one or one of another kind.
            DataError: The same for folders of data.
        """
        path, error_type = folder / NAME, _ERRORS.get(kind, DataError)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise error_type(f"{path} must be readable, got: {error}") from error
        try:
            entries = json.loads(content)
            schema, recorded_kind = entries["schema"], entries.get("kind")
            manifest = cls(_digests(entries["files"]), entries["facts"], _digests(entries["incoming"]), kind)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise error_type(f"{path} must be a manifest, got: {error!r}") from error
        if schema != SCHEMA:
            raise error_type(f"{path} must have schema {SCHEMA}, got {schema!r}: use the sumpool that wrote it")
        if content != _render(entries):
            raise error_type(f"{path} must be as it was written, but its own SHA-256 does not match")
        if recorded_kind != kind:
            raise error_type(f"{path} must be the manifest of a {kind} folder, got {recorded_kind!r}")
        return manifest

    def accepted(self, name: str) -> list[FileDigest]:
        """List the valid digests of a file: the current one, then an incoming one."""
        return [digests[name] for digests in (self.files, self.incoming) if name in digests]

    def verify(self, folder: Path, names: Iterable[str], check: Check = go_on) -> None:
        """Compare files of a folder with the manifest; `check` is called after every mebibyte.

        Raises:
            CheckpointError: If a file of a run or a checkpoint is missing or changed.
            DataError: The same for folders of data.
        """
        for name in names:
            path = folder / name
            try:
                digest = FileDigest.of(path, check)
            except OSError as error:
                raise self._error(f"{path} must be readable, got: {error}") from error
            self.compare(path, name, digest)

    def compare(self, path: Path, name: str, digest: FileDigest) -> None:
        """Compare the digest of one file, named by its path within the folder, with the manifest.

        Raises:
            CheckpointError: If a file of a run or a checkpoint is not listed or changed.
            DataError: The same for folders of data.
        """
        accepted = self.accepted(name)
        if not accepted:
            raise self._error(f"{path} must be named in the {NAME} beside it, but it is not")
        if digest not in accepted:
            expected = accepted[0]
            raise self._error(
                f"{path} must hold {expected.size:,} bytes with SHA-256 {expected.sha256[:12]}..., "
                f"got {digest.size:,} bytes with {digest.sha256[:12]}...: it is damaged or was changed"
            )

    def _error(self, message: str) -> SumpoolError:
        return _ERRORS.get(self.kind, DataError)(message)


def _digests(entries: Mapping[str, Any]) -> dict[str, FileDigest]:
    return {name: FileDigest(**entry) for name, entry in entries.items()}


def _render(entries: Mapping[str, Any]) -> bytes:
    """Encode a manifest with its own digest."""
    content = {name: entry for name, entry in entries.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return (json.dumps({**content, "sha256": digest}, sort_keys=True, indent=1) + "\n").encode()
