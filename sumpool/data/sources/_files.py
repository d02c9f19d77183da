"""Sources of files of rows: one file that is split by a hash of the ids, or one per split."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, model_validator

from sumpool.data.inputs import Split, SplitFilesConfig
from sumpool.data.sources._base import Example, Fields, SourceConfig, hash_split
from sumpool.documents.json_lines import (
    DOCUMENT_FIELDS,
    ID_FIELDS,
    SUMMARY_FIELDS,
    Line,
    Reject,
    guess_field,
    text_of,
)
from sumpool.errors import DataError


class FilesSourceConfig(SplitFilesConfig, SourceConfig, ABC):
    """Settings shared by sources of files of rows; `path` is split by a hash of the ids."""

    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for testing."""
    held_out: float = Field(0, ge=0, le=0.5)
    """Fraction of the training documents used for validation, by a hash of their id, for data without such a split."""

    id: str | None = None
    """Field of the id; by default the first usual name (id, article_id, ...) in the file, else `file:row`."""

    document_setting: ClassVar[str] = "document"
    target_setting: ClassVar[str] = "summary"
    target_fields: ClassVar[tuple[str, ...]] = SUMMARY_FIELDS

    @model_validator(mode="after")
    def _require_one_validation(self) -> Self:
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
    def texts_of(self, row: Mapping[str, object], fields: Fields) -> tuple[str, ...]:
        """Return document and summary of a row, or document, label and a second document.

        Raises:
            ValueError: If a field is missing or of another type; the message lacks the location.
        """

    def row(self, line: Line | Reject, fields: Fields, split: Split | None) -> Example | Reject:
        """Return the example of a row, or why it cannot be used; without a split, its id decides."""
        if isinstance(line, Reject):
            return line
        try:
            name = id_of(line, fields.id)
            document, target, *second = self.texts_of(line.fields, fields)
        except ValueError as error:
            return Reject(line.where, str(error))
        split = split or hash_split(name, self.validation_share, self.test_share)
        return Example(name, document, target, split, *second)

    def notes(self) -> Iterator[str]:
        """Return a message per file with guessed field names.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in self.paths():
            fields = self.fields_of(path)
            if None in (getattr(self, self.document_setting), getattr(self, self.target_setting), self.id):
                target = f"{fields.summary!r} as {self.target_setting}"
                id_field = f"{fields.id!r} as id" if fields.id else "the location in the file as id"
                yield f"{path}: read {fields.document!r} as document, {target} and {id_field}"

    def guess(self, names: Iterable[str], where: Path) -> Fields:
        """Complete the field names from the names in a file.

        Raises:
            DataError: If no name is usual for a document or a summary. A file without names is not an error.
        """
        candidates = dict.fromkeys(names)
        document = getattr(self, self.document_setting) or guess_field(candidates, DOCUMENT_FIELDS)
        target = getattr(self, self.target_setting) or guess_field(candidates, self.target_fields)
        if candidates and not (document and target):
            missing = self.target_setting if document else self.document_setting
            option = f" (init: --{missing} NAME)" if self.target_setting == "summary" else ""
            raise DataError(
                f"{where} must have a field that looks like a {missing}, got {quote_names(candidates)}; "
                f"set data.source.{missing} to its name{option}"
            )
        id_field = self.id or guess_field(candidates, ID_FIELDS)
        return Fields(document or self.document_setting, target or self.target_setting, id_field)

    def guess_columns(self, columns: Sequence[str], where: Path) -> Fields:
        """Complete the field names from the columns of a table, which must have all of them.

        Raises:
            DataError: If a column is missing, or no name is usual for a document or a summary.
        """
        fields = self.guess(columns, where)
        for setting, name in vars(fields).items():
            if name not in {*columns, None}:
                raise DataError(
                    f"{where} must have a column {name!r}, got {quote_names(columns) or 'none'}; "
                    f"set data.source.{setting} to its name"
                )
        return fields

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


class FieldsSourceConfig(FilesSourceConfig, ABC):
    """Settings shared by sources of rows with named fields."""

    document: str | None = None
    """Field of the document; by default the first usual name (document, article, text, ...) in the file."""
    summary: str | None = None
    """Field of the summary; by default the first usual name (summary, abstract, highlights, ...) in the file."""

    def texts_of(self, row: Mapping[str, object], fields: Fields) -> tuple[str, ...]:
        """Return document and summary of a row."""
        return text_of(row, fields.document), text_of(row, fields.summary)


def quote_names(names: Iterable[str]) -> str:
    """Quote and join at most twelve names."""
    return ", ".join(map(repr, list(names)[:12]))
