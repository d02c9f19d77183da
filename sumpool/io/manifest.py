"""Manifest of a folder: size and SHA-256 of every file, facts about the folder, and a digest of the manifest itself.

Neither safetensors nor `torch.save` detects a flipped bit in a tensor; a manifest does.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from sumpool.errors import CheckpointError, DataError, SumpoolError
from sumpool.io.bounded import open_regular, parse_json, read_regular
from sumpool.progress import Check, no_op

NAME = "manifest.json"
MODEL = "model.safetensors"
"""File of a run folder with its best weights."""
RECIPE = "recipe.yaml"
"""File of a run folder with its recipe."""
REPORT = "report.json"
"""File of a run folder and of prepared data with the data report."""
SHIPPED = Path(str(files("sumpool").joinpath("shipped")))
"""Run folder of the shipped model, trained by recipes/default.yaml; its name everywhere is `shipped`."""
SCHEMA = 2
Kind = Literal["run", "checkpoint", "prepared data", "evaluation", "sweep", "summaries", "corpus"]
_ERRORS: Mapping[str, type[SumpoolError]] = {"run": CheckpointError, "checkpoint": CheckpointError}
_BLOCK_BYTES = 1 << 20
_SHA256 = re.compile("[0-9a-f]{64}")
_NUMBERS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("step", "finished", "stale_validations"), (int,)),
    "validation_loss": (int, float),
}
"""Facts that are numbers, with their types."""
RUNS = Path("runs")
"""Default folder of run folders."""
ADVICE = "run `sumpool train quickstart`, or with a recipe of your own, or name a run with --model"
"""What to do without a model, for error messages."""


def run_folder(run: str | Path) -> Path:
    """Return the folder of a run, whose name may be `shipped`."""
    return SHIPPED if Path(run) == Path(SHIPPED.name) else Path(run)


def run_name(folder: Path) -> str:
    """Return what a run folder is called in messages."""
    return SHIPPED.name if folder == SHIPPED else str(folder)


@dataclass(frozen=True)
class FileDigest:
    """Size in bytes and SHA-256 of a file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, check: Check = no_op) -> "FileDigest":
        """Measure a file; `check` is called after every mebibyte."""
        digest = hashlib.sha256()
        with open_regular(path) as file:
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
        # Imported here, as most manifests are only read.
        from sumpool.io.atomic import replace_file

        replace_file(folder / NAME, _render(entries))

    @classmethod
    def read(cls, folder: Path, kind: Kind = "run") -> "Manifest":
        """Read the manifest of a folder of the expected kind.

        Raises:
            CheckpointError, DataError: If missing, damaged or of another kind; the first for runs and checkpoints.
        """
        path, error_type = folder / NAME, _ERRORS.get(kind, DataError)
        try:
            content = read_regular(path)
        except OSError as error:
            raise error_type(f"{path} must be readable, got: {error}") from error
        try:
            entries = parse_json(content)
            schema, recorded_kind = entries["schema"], entries.get("kind")
            if type(schema) is int and schema > SCHEMA:
                raise error_type(
                    f"{path} must have schema {SCHEMA} or lower, got {schema}: a newer version of sumpool wrote it; "
                    "update sumpool"
                )
            facts = dict(entries["facts"].items())
            for name, value in facts.items():
                if name in _NUMBERS and (type(value) not in _NUMBERS[name] or not 0 <= value < 1 << 63):
                    raise ValueError(f"the fact {name} = {value!r}")
            manifest = cls(_digests(entries["files"]), facts, _digests(entries["incoming"]), kind)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise error_type(f"{path} must be a manifest, got: {error!r}") from error
        if schema != SCHEMA:
            raise error_type(f"{path} must have schema {SCHEMA}, got {schema!r}: use the sumpool that wrote it")
        if content != _render(entries):
            raise error_type(f"{path} must be as it was written, but its own SHA-256 does not match")
        if recorded_kind != kind:
            raise error_type(f"{path} must be a manifest of the kind '{kind}', got {recorded_kind!r}")
        return manifest

    def accepted(self, name: str) -> list[FileDigest]:
        """List the valid digests of a file: the current one, then an incoming one."""
        return [digests[name] for digests in (self.files, self.incoming) if name in digests]

    def verify(self, folder: Path, names: Iterable[str], check: Check = no_op) -> None:
        """Compare files of a folder with the manifest; `check` is called after every mebibyte.

        Raises:
            CheckpointError, DataError: If a file is missing or changed; the first for runs and checkpoints.
        """
        for name in names:
            with self._reading(folder, name) as path:
                digest = FileDigest.of(path, check)
            self.compare(path, name, digest)

    def read_file(self, folder: Path, name: str) -> bytes:
        """Read a file of a folder, and compare what was read with the manifest.

        Raises:
            CheckpointError, DataError: If a file is missing or changed; the first for runs and checkpoints.
        """
        with self._reading(folder, name) as path:
            content = read_regular(path)
        self.compare(path, name, FileDigest.of_bytes(content))
        return content

    @contextmanager
    def _reading(self, folder: Path, name: str) -> Iterator[Path]:
        """Give the path of a file to read if it is one of the folder, and of the size in the manifest."""
        path = folder / name
        try:
            require_own(folder, name, _ERRORS.get(self.kind, DataError))
            sizes, size = [digest.size for digest in self._require_listed(path, name)], path.stat().st_size
            if size not in sizes:
                raise self._error(
                    f"{path} must hold {sizes[0]:,} bytes, got {size:,} bytes: it is damaged or was changed"
                )
            yield path
        except OSError as error:
            raise self._error(f"{path} must be readable, got: {error}") from error

    def verify_present(self, folder: Path, names: Iterable[str]) -> None:
        """Compare those of some files that are listed or present; a present one that is not listed is refused.

        Raises:
            CheckpointError, DataError: If a file is missing, changed or not listed; the first for runs and checkpoints.
        """
        self.verify(folder, [name for name in names if name in self.files or os.path.lexists(folder / name)])

    def compare(self, path: Path, name: str, digest: FileDigest) -> None:
        """Compare the digest of one file, named by its path within the folder, with the manifest.

        Raises:
            CheckpointError, DataError: If a file is not listed or changed; the first for runs and checkpoints.
        """
        accepted = self._require_listed(path, name)
        if digest not in accepted:
            expected = accepted[0]
            raise self._error(
                f"{path} must hold {expected.size:,} bytes with SHA-256 {expected.sha256[:12]}..., "
                f"got {digest.size:,} bytes with {digest.sha256[:12]}...: it is damaged or was changed"
            )

    def _require_listed(self, path: Path, name: str) -> list[FileDigest]:
        accepted = self.accepted(name)
        if not accepted:
            raise self._error(f"{path} must be named in the {NAME} beside it, but it is not")
        return accepted

    def _error(self, message: str) -> SumpoolError:
        return _ERRORS.get(self.kind, DataError)(message)


def require_own(folder: Path, name: str, error_type: type[SumpoolError] = CheckpointError) -> None:
    """Check that a file is no link out of its folder, which would copy or upload a file of somebody else.

    Raises:
        SumpoolError: If it is one.
    """
    path = folder / name
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise error_type(f"{path} must be a file of its folder, got a link to {path.resolve()}; copy it")


def _digests(entries: Mapping[str, Any]) -> dict[str, FileDigest]:
    """Check the listed files: plain names within the folder, with a size and a SHA-256."""
    digests = {name: FileDigest(**entry) for name, entry in entries.items()}
    for name, digest in digests.items():
        name.encode()  # a lone surrogate is a ValueError
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) != name or "\\" in name or not path.name:
            raise ValueError(f"the name {name!r}, which must be that of a file in the folder")
        is_size = type(digest.size) is int and 0 <= digest.size < 1 << 63
        if not is_size or not (isinstance(digest.sha256, str) and _SHA256.fullmatch(digest.sha256)):
            raise ValueError(f"{name} with {digest}")
    return digests


def _render(entries: Mapping[str, Any]) -> bytes:
    """Encode a manifest with its own digest."""
    content = {name: entry for name, entry in entries.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return (json.dumps({**content, "sha256": digest}, sort_keys=True, indent=1) + "\n").encode()
