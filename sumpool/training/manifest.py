"""What a folder holds: the size and the SHA-256 of every file, in a manifest that also vouches for itself.

Neither safetensors nor `torch.save` notices a flipped bit in the numbers; this does.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sumpool.data.files import sync
from sumpool.errors import CheckpointError
from sumpool.training.atomic_io import beside, move, replace

NAME = "manifest.json"
SCHEMA = 1


@dataclass(frozen=True)
class Content:
    """What a file holds, without the file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Content":
        """Measure a file."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(file.tell(), digest)

    @classmethod
    def of_bytes(cls, content: bytes) -> "Content":
        """Measure what was read from a file."""
        return cls(len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True)
class Manifest:
    """The files of a folder.

    Attributes:
        files: Content of each file by name.
        incoming: Content that a file may already have: it is announced before the rename that brings it, so that no
            crash can leave a file and its manifest at odds.
        facts: What else there is to say about the folder, as JSON.
    """

    files: Mapping[str, Content]
    facts: Mapping[str, Any] = field(default_factory=dict)
    incoming: Mapping[str, Content] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Put the manifest into its folder, in one piece."""
        replace(folder / NAME, self._render())

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder.

        Raises:
            CheckpointError: If there is none, or it is not what was written.
        """
        path = folder / NAME
        try:
            written = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path} must be readable, got: {error}") from error
        try:
            entries = json.loads(written)
            schema = entries["schema"]
            manifest = cls(
                {name: Content(**content) for name, content in entries["files"].items()},
                entries["facts"],
                {name: Content(**content) for name, content in entries["incoming"].items()},
            )
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path} must be a manifest, got: {error!r}") from error
        if schema != SCHEMA:
            raise CheckpointError(f"{path} must have schema {SCHEMA}, got {schema!r}: use the sumpool that wrote it")
        if written != manifest._render():
            raise CheckpointError(f"{path} must be as it was written, but its own SHA-256 does not match")
        return manifest

    def accepted(self, name: str) -> list[Content]:
        """List what a file may hold."""
        return [names[name] for names in (self.files, self.incoming) if name in names]

    def verify(self, folder: Path, names: Iterable[str]) -> None:
        """Compare files with what they should hold.

        Raises:
            CheckpointError: If one is missing or holds anything else.
        """
        for name in names:
            path = folder / name
            try:
                found = Content.of(path)
            except OSError as error:
                raise CheckpointError(f"{path} must be readable, got: {error}") from error
            self.compare(path, found)

    def compare(self, path: Path, found: Content) -> None:
        """Compare the content of one file with what it should be.

        Raises:
            CheckpointError: If it is anything else.
        """
        accepted = self.accepted(path.name)
        if not accepted:
            raise CheckpointError(f"{path} must be named in the {NAME} beside it, but it is not")
        if found not in accepted:
            expected = accepted[0]
            raise CheckpointError(
                f"{path} must hold {expected.size:,} bytes with SHA-256 {expected.sha256[:12]}..., "
                f"got {found.size:,} bytes with {found.sha256[:12]}...: it is damaged or was changed"
            )

    def _render(self) -> bytes:
        entries = {
            "schema": SCHEMA,
            "facts": self.facts,
            "files": {name: asdict(content) for name, content in self.files.items()},
            "incoming": {name: asdict(content) for name, content in self.incoming.items()},
        }
        entries["sha256"] = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
        return (json.dumps(entries, sort_keys=True, indent=1) + "\n").encode()


def put_in_place(path: Path, facts: Mapping[str, Any]) -> None:
    """Give a file of a folder with a manifest the content that waits beside it.

    The manifest first names the new content beside the old, then the file changes, then the old is forgotten: after a
    crash at any moment the file holds what the manifest says, all of the old or all of the new.

    Args:
        path: The file; its new content is already written under `beside(path)`.
        facts: What else the manifest says from now on.

    Raises:
        CheckpointError: If the manifest is broken.
        OSError: If the disk fails; the file is as it was.
    """
    folder, name = path.parent, path.name
    manifest = Manifest.read(folder)
    sync(beside(path))
    new = Content.of(beside(path))
    files = dict(manifest.files)
    if path.exists() and (present := Content.of(path)) in manifest.accepted(name):
        files[name] = present  # a replacement that was cut short may have left its incoming content
    Manifest(files, manifest.facts, {name: new}).write(folder)
    move(beside(path), path)
    Manifest({**files, name: new}, {**manifest.facts, **facts}).write(folder)
