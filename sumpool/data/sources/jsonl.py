"""JSON lines: one document with its summary a line."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, final

from pydantic import Field, model_validator

from sumpool.data.sources._base import Example, Reject, SourceConfig, Split
from sumpool.data.sources._split import split_of
from sumpool.documents.json_lines import (
    DOCUMENT_FIELDS,
    ID_FIELDS,
    SUMMARY_FIELDS,
    Line,
    guess_field,
    read_lines,
    text_of,
)
from sumpool.errors import DataError


@final
class JsonlConfig(SourceConfig):
    """JSON lines files, also with .gz or .zst: one for all splits, or one for each."""

    kind: Literal["jsonl"] = "jsonl"
    path: Path | None = None
    """One file, split by a hash of the id."""
    train: Path | None = None
    """The training documents."""
    validation: Path | None = None
    """The validation documents."""
    test: Path | None = None
    """The test documents."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Share of `path` for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Share of `path` for testing."""
    document: str | None = None
    """Field of the document; by default the first of the usual names in the first line."""
    summary: str | None = None
    """Field of the summary; by default the first of the usual names in the first line."""
    id: str | None = None
    """Field of the id; by default the first of the usual names in the first line, and `file:line` without one."""

    @model_validator(mode="after")
    def _one_way_to_split(self) -> "JsonlConfig":
        if (self.path is None) == (self.train is None):
            raise ValueError("must have either path, or train with validation and test")
        if self.path and (self.validation or self.test):
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        return self

    def rows(self) -> Iterator[Example | Reject]:
        """Read every line of every file.

        Raises:
            DataError: If a file is missing or breaks off, or if no field looks like a document or a summary.
        """
        seen: set[bytes] = set()
        for path, split in self._paths():
            names = self._names(path)
            for line in read_lines(path):
                row = self._row(line, names, split) if isinstance(line, Line) else Reject(line.where, line.reason)
                if isinstance(row, Example):
                    key = hashlib.blake2b(row.id.encode(), digest_size=16).digest()
                    if key in seen:
                        row = Reject(line.where, f"id must be unique, got {row.id!r} a second time")
                    seen.add(key)
                yield row

    def notes(self) -> Iterable[str]:
        """Say which fields were guessed.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in self._paths():
            document, summary, name = self._names(path)
            if None in (self.document, self.summary, self.id):
                of_id = f"{name!r} as id" if name else "the place in the file as id"
                yield f"{path}: read {document!r} as document, {summary!r} as summary and {of_id}"

    def _paths(self) -> list[tuple[Path, Split | None]]:
        """Give every file with its split, None where that goes by the id."""
        if self.path:
            return [(self.path, None)]
        files: tuple[tuple[Path | None, Split], ...] = (
            (self.train, "train"),
            (self.validation, "validation"),
            (self.test, "test"),
        )
        return [(path, split) for path, split in files if path]

    def _names(self, path: Path) -> tuple[str, str, str | None]:
        """Give the fields of document, summary and id; those not set are guessed from the first line that is whole."""
        first = next((line.fields for line in read_lines(path) if isinstance(line, Line)), {})
        document = self.document or guess_field(first, DOCUMENT_FIELDS)
        summary = self.summary or guess_field(first, SUMMARY_FIELDS)
        if first and not (document and summary):
            missing = "summary" if document else "document"
            raise DataError(
                f"{path} must have a field that looks like a {missing}, got {', '.join(map(repr, list(first)[:12]))}; "
                f"set data.source.{missing} to its name"
            )
        return document or "document", summary or "summary", self.id or guess_field(first, ID_FIELDS)

    def _row(self, line: Line, names: tuple[str, str, str | None], split: Split | None) -> Example | Reject:
        document, summary, id_field = names
        try:
            name = _id(line, id_field)
            return Example(
                name,
                text_of(line.fields, document),
                text_of(line.fields, summary),
                split or split_of(name, self.validation_share, self.test_share),
            )
        except ValueError as error:
            return Reject(line.where, str(error))


def _id(line: Line, field: str | None) -> str:
    """Give the id of a line; a whole number will do."""
    if field is None:
        return line.where
    value = line.fields.get(field)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(line.fields, field)
