"""Sources of files of rows: one file that is split by a hash of the ids, or one per split."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from sumpool.data.sources._base import Example, Fields, SourceConfig, Split, hash_split
from sumpool.documents.json_lines import Line, Reject, text_of


class FilesSourceConfig(SourceConfig, ABC):
    """Settings shared by sources of files of rows."""

    path: Path | None = None
    """File with all documents, split by a hash of their id. Either `path` or `train` must be set."""
    train: Path | None = None
    """File with the training documents."""
    validation: Path | None = None
    """File with the validation documents."""
    test: Path | None = None
    """File with the test documents."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for testing."""
    held_out: float = Field(0, ge=0, le=0.5)
    """Fraction of the training documents used for validation, by a hash of their id, for data without such a split."""

    @model_validator(mode="after")
    def _require_one_way_to_split(self) -> Self:
        if (self.path is None) == (self.train is None):
            raise ValueError("must have either path, or train with validation and test")
        if self.path and (self.validation or self.test):
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        if self.held_out and self.validation:
            raise ValueError("held_out must be 0 where validation is set, got both")
        return self

    @abstractmethod
    def fields_of(self, path: Path) -> Fields:
        """Return the field names of a file, guessing those that are not set.

        Raises:
            DataError: If the file cannot be read, or lacks a field for document or summary.
        """

    @abstractmethod
    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the rows of a file.

        Raises:
            DataError: If the file is missing or damaged.
        """

    @abstractmethod
    def row(self, line: Line | Reject, fields: Fields, split: Split | None) -> Example | Reject:
        """Return the example of a row, or why it cannot be used; without a split, its id decides."""

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files with their splits; None if documents are split by a hash of their id."""
        files: tuple[tuple[Path | None, Split | None], ...] = (
            (self.path, None),
            (self.train, "train"),
            (self.validation, "validation"),
            (self.test, "test"),
        )
        yield from ((path, split) for path, split in files if path)

    def rows(self) -> Iterator[Example | Reject]:
        """Read all rows of all files; invalid rows and rows with a repeated id are rejected.

        Raises:
            DataError: If a file is missing or damaged, or lacks a field for document or summary.
        """
        digests: set[bytes] = set()
        for path, split in self.paths():
            fields = self.fields_of(path)
            for line in self.lines(path, fields):
                row = self.row(line, fields, split)
                if isinstance(row, Example):
                    digest = hashlib.blake2b(row.id.encode(), digest_size=16).digest()
                    if digest in digests:
                        row = Reject(line.where, f"id must be unique, got {row.id!r} a second time")
                    digests.add(digest)
                yield self._hold_out(row) if split == "train" else row

    def _hold_out(self, row: Example | Reject) -> Example | Reject:
        """Assign a training document to training or validation."""
        if isinstance(row, Reject) or not self.held_out:
            return row
        return replace(row, split=hash_split(row.id, self.held_out, 0))

    def field_names(self) -> Fields | None:
        """Return the field names of the first file, guessed or set.

        Raises:
            DataError: As `rows`.
        """
        return next((self.fields_of(path) for path, _ in self.paths()), None)


def id_of(line: Line, field: str | None) -> str:
    """Return the id of a row, a text or an integer; its location if there is no id field.

    Raises:
        ValueError: If the field is missing or of another type; the message lacks the location.
    """
    if field is None:
        return line.where
    value = line.fields.get(field)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(line.fields, field)
