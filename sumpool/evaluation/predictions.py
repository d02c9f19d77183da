"""Summaries and references from files, joined by ID or in their order.

A file is JSON lines, CSV or TSV with a header, or text with a summary per line, as the scripts of Hugging Face write
it; any may be compressed (.gz, .zst). Files are read to the end before anything is scored, so that invalid rows are
reported at once. Summaries stay in memory; the references, which have the documents, are read again in order.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sumpool.data.sources import read_rows
from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.documents.files import READ_ERRORS, decode, open_bytes, read_lines_limited, uncompressed_suffix
from sumpool.documents.rows import DOCUMENT_FIELDS, ID_FIELDS, SUMMARY_FIELDS, Line, Reject, guess_field, read_lines
from sumpool.errors import DataError
from sumpool.evaluation.scorer import ReferenceDocument

_SUMMARIES = ("summary", "prediction", "predicted", "hypothesis", "generated", "output")
_REFERENCES = ("reference", *SUMMARY_FIELDS)
_TABLES = (".csv", ".tsv")
_JSON_LINES = (".jsonl", ".json", ".ndjson")


class FieldNames(NamedTuple):
    """Field names of a file, guessed from its first row; without an ID, rows are joined by line number."""

    id: str | None
    text: str
    document: str | None = None

    def __str__(self) -> str:
        joined = "joined by line" if self.id is None else f"id in {self.id!r}"
        document = f", document in {self.document!r}" if self.document else ""
        return f"text in {self.text!r}, {joined}{document}"


@dataclass(frozen=True)
class References:
    """Documents with their references.

    Attributes:
        source: The file, or the folder of prepared data.
        fields: Description of the fields, for notes.
        named: Whether the IDs are names instead of line numbers.
        ids: ID of each document.
        read: Reads the documents in the order of the IDs.
    """

    source: Path
    fields: str
    named: bool
    ids: Sequence[str]
    read: Callable[[], Iterator[ReferenceDocument]]

    @classmethod
    def of_file(cls, path: Path) -> "References":
        """Validate a file of rows with a reference and optionally the document.

        Raises:
            DataError: If a row is invalid or an ID occurs twice; also while the file is read again.
        """
        fields, ids = FieldNames(None, ""), list[str]()
        for found, id, *_ in _scan(path, _REFERENCES, DOCUMENT_FIELDS):
            fields = found  # of every row
            ids.append(id)

        def read() -> Iterator[ReferenceDocument]:
            for _, id, text, document in _scan(path, _REFERENCES, DOCUMENT_FIELDS):
                yield ReferenceDocument(id, text, document)

        return cls(path, str(fields), fields.id is not None, ids, read)


def join(predictions: Path, references: References, *, skip_missing: bool = False) -> tuple[dict[str, str], list[str]]:
    """Validate a file of summaries and join it with the references.

    Args:
        predictions: File of rows with a summary. Rows without IDs are joined with named documents in their order.
        references: The documents with their references.
        skip_missing: Whether references without a summary are left out instead of raising an error.

    Returns:
        The summary of each document by its ID, and notes on the fields and on rows that are left out.

    Raises:
        DataError: If a row is invalid, an ID occurs twice, or a reference has no summary.
    """
    fields, summaries = FieldNames(None, ""), dict[str, str]()
    for found, id, text, _ in _scan(predictions, _SUMMARIES):
        fields = found
        summaries[id] = text
    ids = references.ids
    if references.named and fields.id is None and len(summaries) == len(ids):
        summaries = dict(zip(ids, summaries.values(), strict=True))
    elif references.named and fields.id is None:
        raise DataError(
            f"{predictions} must have a summary for each of the {len(ids):,} documents of {references.source} where "
            f"it has no ids, got {len(summaries):,}; an empty line is an empty summary"
        )
    elif not references.named and fields.id is not None:
        raise DataError(
            f"{predictions} and {references.source} must both have ids, or neither, got rows with {fields} and rows "
            f"with {references.fields}"
        )
    missing = [id for id in ids if id not in summaries]
    if len(missing) == len(ids) or (missing and not skip_missing):
        raise DataError(
            f"{predictions} must have a summary for every reference of {references.source}, got none for "
            f"{_examples(missing)}; add them, or skip the missing ones"
        )
    notes = [f"{predictions.name}: {fields}"]
    if references.source.is_file():
        notes.append(f"{references.source.name}: {references.fields}")
    if missing:
        notes.append(f"references without a summary, left out: {_examples(missing)}")
    extra = sorted(summaries.keys() - set(ids))
    if extra:
        notes.append(f"summaries without a reference, left out: {_examples(extra)}")
    return {id: summaries[id] for id in ids if id in summaries}, notes


def _scan(
    path: Path, texts: Sequence[str], documents: tuple[str, ...] = ()
) -> Iterator[tuple[FieldNames, str, str, str | None]]:
    """Yield names of fields, ID, text and document of each row of a file, which has one at least; the IDs differ."""
    fields: FieldNames | None = None
    numbers: dict[str, str] = {}
    for number, line in _rows(path):
        if fields is None:
            text = guess_field(line.fields, tuple(texts))
            if text is None:
                rule = f"must have one of the fields {_listed(texts)}, got {_listed(list(line.fields))}"
                raise DataError(f"{line.where} {rule}")
            strings = {name: value for name, value in line.fields.items() if isinstance(value, str)}
            fields = FieldNames(guess_field(line.fields, ID_FIELDS), text, guess_field(strings, documents))
        id = _id(line, fields.id, number)
        if id in numbers:
            raise DataError(f"{line.where} must have a unique id, got {id!r} of line {numbers[id]} again")
        numbers[id] = line.where.rpartition(":")[2]
        yield fields, id, _text(line, fields.text), fields.document and _text(line, fields.document)
    if fields is None:
        raise DataError(f"{path} must have at least one row, got none")


def _rows(path: Path) -> Iterator[tuple[str, Line]]:
    """Read the rows of a file by its suffix, or by its first character; a line of text is a field of its row.

    Yields:
        The number of the line, or of the row of a table, whose cells may have several lines; and the row.
    """
    suffix = uncompressed_suffix(path)
    rows: Iterator[Line | Reject]
    if suffix in _TABLES:
        rows = read_rows(path)
    elif suffix in _JSON_LINES or next(_text_lines(path), b"{").startswith(b"{"):
        rows = read_lines(path)
    else:
        rows = (_text_line(f"{path}:{number}", content) for number, content in enumerate(_text_lines(path), 1))
    for number, line in enumerate(rows, 1):
        if isinstance(line, Reject):
            raise DataError(f"{line.where} {line.reason}")
        yield str(number) if suffix in _TABLES else line.where.rpartition(":")[2], line


def _text_lines(path: Path) -> Iterator[bytes]:
    """Read the lines of a text, also the empty ones, which are empty summaries."""
    try:
        with open_bytes(path) as file:
            yield from read_lines_limited(file, DEFAULT_LIMITS, str(path))
    except READ_ERRORS as error:
        raise DataError(f"{path} must be complete, got: {error}; get the file again") from error


def _text_line(where: str, content: bytes) -> Line | Reject:
    try:
        return Line(where, {"summary": decode(content).strip()})
    except ValueError as error:
        return Reject(where, str(error))


def _text(line: Line, field: str) -> str:
    """Return a text field, which may be empty."""
    value = line.fields.get(field)
    if not isinstance(value, str):
        got = f"the fields {_listed(list(line.fields))}" if value is None else type(value).__name__
        raise DataError(f"{line.where} must have a text in {field!r}, got {got}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{line.where} must have Unicode text in {field!r}, got {value[error.start]!a} at {error.start}"
        ) from error
    return value


def _id(line: Line, field: str | None, number: str) -> str:
    """Return an ID field, which may be a whole number, or the number of the row."""
    if field is None:
        return number
    value = line.fields.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise DataError(f"{line.where} must have a name in {field!r}, got {json.dumps(value)[:60]}")
    return _text(line, field)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:30] for name in names[:8])
    return shown + (", ..." if len(names) > 8 else "") if names else "none"


def _examples(names: list[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:5])
    return f"{len(names):,} ({shown}{', ...' if len(names) > 5 else ''})"
