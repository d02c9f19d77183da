"""Summaries and references from two files, joined by ID.

Both files are read to the end before anything is scored, so that invalid rows are reported at once. The references are
then read again in order, and each summary is read at its offset; memory grows by an ID and two numbers per row.
"""

import json
import shutil
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from sumpool.documents.files import COMPRESSIONS, READ_ERRORS, open_bytes
from sumpool.documents.json_lines import DOCUMENT_FIELDS, ID_FIELDS, SUMMARY_FIELDS, Reject, guess_field, read_line
from sumpool.errors import DataError
from sumpool.evaluation.scorer import Candidate, ReferenceDocument


class InputRow(NamedTuple):
    """Row of a JSON lines file, with its line number from 1 and its byte offset in the decompressed file."""

    where: str
    number: int
    offset: int
    fields: dict[str, object]

    def text(self, field: str) -> str:
        """Return a text field, which may be empty.

        Raises:
            DataError: If the field is missing, not text, or not Unicode.
        """
        value = self.fields.get(field)
        if not isinstance(value, str):
            got = f"the fields {_listed(list(self.fields))}" if value is None else type(value).__name__
            raise DataError(f"{self.where} must have a text in {field!r}, got {got}")
        return self._unicode(field, value)

    def name(self, field: str) -> str:
        """Return an ID field, which may be a whole number.

        Raises:
            DataError: If the field is neither text nor a whole number.
        """
        value = self.fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise DataError(f"{self.where} must have a name in {field!r}, got {json.dumps(value)[:60]}")
        return self._unicode(field, value)

    def guess(self, names: Sequence[str]) -> str:
        """Return the first of some common field names that the row has.

        Raises:
            DataError: If the row has none of them.
        """
        for name in names:
            if name in self.fields:
                return name
        raise DataError(f"{self.where} must have one of the fields {_listed(names)}, got {_listed(list(self.fields))}")

    def _unicode(self, field: str, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self.where} must have Unicode text in {field!r}, got {value[error.start]!a} at {error.start}"
            ) from error
        return value


@contextmanager
def open_rows(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressed if necessary.

    Raises:
        DataError: If the file cannot be read, or its compressed content is damaged.
    """
    with open_bytes(path) as file:
        try:
            yield file
        except READ_ERRORS as error:
            raise DataError(f"{path} must be a file that can be read, got: {error}; get it again") from error


def read_rows(file: IO[bytes], path: Path) -> Iterator[InputRow]:
    """Read the rows of an open file, without empty lines.

    Raises:
        DataError: If a line is not a JSON object.
    """
    offset = 0
    for number, content in enumerate(file, 1):
        if content.strip():
            yield read_row(content, path, number, offset)
        offset += len(content)


def read_row(content: bytes, path: Path, number: int, offset: int) -> InputRow:
    """Parse one line.

    Raises:
        DataError: If the line is not a JSON object.
    """
    line = read_line(f"{path}:{number}", content)
    if isinstance(line, Reject):
        raise DataError(f"{line.where} {line.reason}")
    return InputRow(line.where, number, offset, line.fields)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:30] for name in names[:8])
    return shown + (", ..." if len(names) > 8 else "") if names else "none"


_SUMMARIES = ("summary", "prediction", "predicted", "hypothesis", "generated", "output")
_REFERENCES = ("reference", *SUMMARY_FIELDS)


@dataclass(frozen=True)
class FieldNames:
    """Field names of a file, guessed from its first row; without an ID, rows are joined by line number."""

    id: str | None
    text: str
    document: str | None = None

    def name(self, row: InputRow) -> str:
        """Return the ID of a row, or its line number."""
        return str(row.number) if self.id is None else row.name(self.id)

    def __str__(self) -> str:
        joined = "joined by line" if self.id is None else f"id in {self.id!r}"
        document = f", document in {self.document!r}" if self.document else ""
        return f"text in {self.text!r}, {joined}{document}"


@dataclass(frozen=True)
class JoinedFiles:
    """Two files joined by ID, with line number and byte offset of each summary."""

    references: Path
    reference_fields: FieldNames
    predictions: Path
    prediction_fields: FieldNames
    offsets: dict[str, tuple[int, int]]
    documents: int
    notes: list[str]

    def candidates(self, done: Set[str] = frozenset()) -> Iterator[Candidate]:
        """Read references with their summaries, in the order of the references, but for the IDs in `done`.

        Raises:
            DataError: If a file has changed since it was checked.
        """
        fields = self.reference_fields
        with open_rows(self.references) as references, _seekable(self.predictions) as predictions:
            for row in read_rows(references, self.references):
                id = fields.name(row)
                if id in done or id not in self.offsets:
                    continue
                number, offset = self.offsets[id]
                predictions.seek(offset)
                summary = read_row(predictions.readline(), self.predictions, number, offset)
                yield Candidate(
                    id=id,
                    summary=summary.text(self.prediction_fields.text),
                    reference=row.text(fields.text),
                    document=None if fields.document is None else row.text(fields.document),
                )

    def reference_documents(self) -> Iterator[ReferenceDocument]:
        """Read the references that have a summary, in their order.

        Raises:
            DataError: If the file has changed since it was checked.
        """
        fields = self.reference_fields
        with open_rows(self.references) as references:
            for row in read_rows(references, self.references):
                if (id := fields.name(row)) in self.offsets:
                    document = None if fields.document is None else row.text(fields.document)
                    yield ReferenceDocument(id, row.text(fields.text), document)


def join(predictions: Path, references: Path, *, skip_missing: bool = False) -> JoinedFiles:
    """Validate two JSON lines files (optionally .gz or .zst) and join them by ID.

    Args:
        predictions: File of rows with a summary.
        references: File of rows with a reference and optionally the document.
        skip_missing: Whether references without a summary are left out instead of raising an error.

    Raises:
        DataError: If a row is invalid, an ID occurs twice, or a reference has no summary.
    """
    prediction_fields, offsets = _scan(predictions, _SUMMARIES)
    reference_fields, names = _scan(references, _REFERENCES, DOCUMENT_FIELDS)
    missing = [name for name in names if name not in offsets]
    matched = len(names) - len(missing)
    if (prediction_fields.id is None) != (reference_fields.id is None):
        raise DataError(
            f"{predictions} and {references} must both have ids, or neither, got {prediction_fields} and "
            f"{reference_fields}"
        )
    if not matched or (missing and not skip_missing):
        raise DataError(
            f"{predictions} must have a summary for every reference of {references}, got none for "
            f"{_examples(missing)}; add them, or skip the missing ones"
        )
    notes = [f"{predictions.name}: {prediction_fields}", f"{references.name}: {reference_fields}"]
    if missing:
        notes.append(f"references without a summary, left out: {_examples(missing)}")
    extra = sorted(offsets.keys() - names.keys())
    if extra:
        notes.append(f"summaries without a reference, left out: {_examples(extra)}")
    return JoinedFiles(references, reference_fields, predictions, prediction_fields, offsets, matched, notes)


def _scan(
    path: Path, texts: Sequence[str], documents: tuple[str, ...] = ()
) -> tuple[FieldNames, dict[str, tuple[int, int]]]:
    """Check all rows of a file, and return its field names with line number and byte offset of each row by ID."""
    fields: FieldNames | None = None
    offsets: dict[str, tuple[int, int]] = {}
    with open_rows(path) as file:
        for row in read_rows(file, path):
            if fields is None:
                strings = {name: value for name, value in row.fields.items() if isinstance(value, str)}
                document = guess_field(strings, documents)
                fields = FieldNames(guess_field(row.fields, ID_FIELDS), row.guess(texts), document)
            name = fields.name(row)
            if name in offsets:
                raise DataError(f"{row.where} must have a unique id, got {name!r} of line {offsets[name][0]} again")
            for required in filter(None, (fields.text, fields.document)):
                row.text(required)
            offsets[name] = row.number, row.offset
    if fields is None:
        raise DataError(f"{path} must have at least one row, got none")
    return fields, offsets


@contextmanager
def _seekable(path: Path) -> Iterator[IO[bytes]]:
    """Open a file with random access; a compressed file is first decompressed into a temporary file."""
    with open_rows(path) as file:
        if path.suffix not in COMPRESSIONS:
            yield file
            return
        with TemporaryFile() as decompressed:
            shutil.copyfileobj(file, decompressed)
            yield decompressed


def _examples(names: list[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:5])
    return f"{len(names):,} ({shown}{', ...' if len(names) > 5 else ''})"
