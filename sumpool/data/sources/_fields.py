"""What sources of rows with named fields share: which field is what, and an example from each row."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sumpool.data.sources._base import Example, Reject, Split
from sumpool.data.sources._split import split_of
from sumpool.documents.json_lines import (
    DOCUMENT_FIELDS,
    ID_FIELDS,
    SUMMARY_FIELDS,
    BadLine,
    Line,
    guess_field,
    text_of,
)
from sumpool.errors import DataError


@dataclass(frozen=True)
class Fields:
    """Which field is what.

    Attributes:
        document: Field of the document; None where it is to be guessed.
        summary: Field of the summary; None where it is to be guessed.
        id: Field of the id; None where it is to be guessed, and afterwards where the place in the file is the id.
    """

    document: str | None
    summary: str | None
    id: str | None

    def guess(self, names: Iterable[str], where: Path) -> "Fields":
        """Fill in what is not set from the names that a file has.

        Raises:
            DataError: If none looks like a document or a summary; a file without any name is left alone.
        """
        known = dict.fromkeys(names)
        document = self.document or guess_field(known, DOCUMENT_FIELDS)
        summary = self.summary or guess_field(known, SUMMARY_FIELDS)
        if known and not (document and summary):
            missing = "summary" if document else "document"
            raise DataError(
                f"{where} must have a field that looks like a {missing}, got {listed(known)}; "
                f"set data.source.{missing} to its name"
            )
        return Fields(document or "document", summary or "summary", self.id or guess_field(known, ID_FIELDS))

    def note(self, found: "Fields", where: Path) -> Iterator[str]:
        """Say what was guessed in a file, if anything was."""
        if None in (self.document, self.summary, self.id):
            of_id = f"{found.id!r} as id" if found.id else "the place in the file as id"
            yield f"{where}: read {found.document!r} as document, {found.summary!r} as summary and {of_id}"


def listed(names: Iterable[str]) -> str:
    """Write a dozen names out."""
    return ", ".join(map(repr, list(names)[:12]))


def files_of_splits(
    path: Path | None, train: Path | None, validation: Path | None, test: Path | None
) -> list[tuple[Path, Split | None]]:
    """Give the files with their splits, None where that goes by the id.

    Raises:
        ValueError: If there is neither one file nor one for training, or both.
    """
    if (path is None) == (train is None):
        raise ValueError("must have either path, or train with validation and test")
    if path:
        if validation or test:
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        return [(path, None)]
    named: tuple[tuple[Path | None, Split], ...] = ((train, "train"), (validation, "validation"), (test, "test"))
    return [(file, split) for file, split in named if file]


def examples(
    files: Iterable[tuple[Fields, Split | None, Iterable[Line | BadLine]]], validation: float, test: float
) -> Iterator[Example | Reject]:
    """Make an example of every row, and reject those that are none or have an id for the second time.

    Args:
        files: For each its fields, none of them to be guessed, its split, and its rows.
        validation: Share of the documents for validation where a file has no split.
        test: Share of the documents for testing where a file has no split.
    """
    seen: set[bytes] = set()
    for fields, split, lines in files:
        for line in lines:
            if isinstance(line, BadLine):
                yield Reject(line.where, line.reason)
                continue
            try:
                name = _id(line, fields.id)
                document, summary = (text_of(line.fields, field or "") for field in (fields.document, fields.summary))
            except ValueError as error:
                yield Reject(line.where, str(error))
                continue
            key = hashlib.blake2b(name.encode(), digest_size=16).digest()
            if key in seen:
                yield Reject(line.where, f"id must be unique, got {name!r} a second time")
                continue
            seen.add(key)
            yield Example(name, document, summary, split or split_of(name, validation, test))


def _id(line: Line, field: str | None) -> str:
    """Give the id of a row; a whole number will do."""
    if field is None:
        return line.where
    value = line.fields.get(field)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(line.fields, field)
