"""Field names of tabular sources (JSON lines, Parquet), and examples from their rows."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sumpool.data.sources._base import Example, Reject, Split, hash_split
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
    """Names of the fields that hold document, summary and id; None if the name is to be guessed.

    Attributes:
        document: Field of the document.
        summary: Field of the summary.
        id: Field of the id; None after guessing if the location in the file is used as id.
    """

    document: str | None
    summary: str | None
    id: str | None

    def guess(self, names: Iterable[str], where: Path) -> "Fields":
        """Choose the missing names from the names in a file.

        Raises:
            DataError: If no name is usual for a document or a summary. A file without names is not an error.
        """
        candidates = dict.fromkeys(names)
        document = self.document or guess_field(candidates, DOCUMENT_FIELDS)
        summary = self.summary or guess_field(candidates, SUMMARY_FIELDS)
        if candidates and not (document and summary):
            missing = "summary" if document else "document"
            raise DataError(
                f"{where} must have a field that looks like a {missing}, got {quote_names(candidates)}; "
                f"set data.source.{missing} to its name"
            )
        return Fields(document or "document", summary or "summary", self.id or guess_field(candidates, ID_FIELDS))

    def note(self, guessed: "Fields", where: Path) -> Iterator[str]:
        """Return a message with the names used for a file, if any was guessed."""
        if None in (self.document, self.summary, self.id):
            id_field = f"{guessed.id!r} as id" if guessed.id else "the location in the file as id"
            yield f"{where}: read {guessed.document!r} as document, {guessed.summary!r} as summary and {id_field}"


def quote_names(names: Iterable[str]) -> str:
    """Quote and join at most twelve names."""
    return ", ".join(map(repr, list(names)[:12]))


def split_files(
    path: Path | None, train: Path | None, validation: Path | None, test: Path | None
) -> list[tuple[Path, Split | None]]:
    """Return the configured files with their splits; split None if documents are split by a hash of their id.

    Raises:
        ValueError: If both or neither of `path` and `train` are set, or `path` with `validation` or `test`.
    """
    if (path is None) == (train is None):
        raise ValueError("must have either path, or train with validation and test")
    if path:
        if validation or test:
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        return [(path, None)]
    files: tuple[tuple[Path | None, Split], ...] = ((train, "train"), (validation, "validation"), (test, "test"))
    return [(file, split) for file, split in files if file]


def examples(
    files: Iterable[tuple[Fields, Split | None, Iterable[Line | BadLine]]], validation: float, test: float
) -> Iterator[Example | Reject]:
    """Convert rows to examples; unusable rows and rows with a repeated id are rejected.

    Args:
        files: Field names, split and rows of each file.
        validation: Fraction of the documents for validation, for files without a split.
        test: Fraction of the documents for testing, for files without a split.
    """
    digests: set[bytes] = set()
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
            digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
            if digest in digests:
                yield Reject(line.where, f"id must be unique, got {name!r} a second time")
                continue
            digests.add(digest)
            yield Example(name, document, summary, split or hash_split(name, validation, test))


def _id(line: Line, field: str | None) -> str:
    """Return the id of a row, a text or an integer; its location if there is no id field."""
    if field is None:
        return line.where
    value = line.fields.get(field)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(line.fields, field)
