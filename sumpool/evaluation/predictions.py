"""Summaries and references from two files, joined by ID.

Both files are read to the end before anything is scored, so that invalid rows are reported at once. Summaries stay in
memory; the references, which have the documents, are read again in order.
"""

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sumpool.documents.json_lines import (
    DOCUMENT_FIELDS,
    ID_FIELDS,
    SUMMARY_FIELDS,
    Line,
    Reject,
    guess_field,
    read_lines,
)
from sumpool.errors import DataError
from sumpool.evaluation.scorer import Candidate, ReferenceDocument

_SUMMARIES = ("summary", "prediction", "predicted", "hypothesis", "generated", "output")
_REFERENCES = ("reference", *SUMMARY_FIELDS)


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
class JoinedFiles:
    """References with their summaries by ID, and notes on both files."""

    references: Path
    fields: FieldNames
    summaries: dict[str, str]
    documents: int
    notes: list[str]

    def candidates(self, done: Set[str] = frozenset()) -> Iterator[Candidate]:
        """Read references with their summaries, in the order of the references, but for the IDs in `done`.

        Raises:
            DataError: If the file has changed since it was checked.
        """
        for item in self.reference_documents():
            if item.id not in done:
                yield Candidate(item.id, self.summaries[item.id], item.reference, item.document)

    def reference_documents(self) -> Iterator[ReferenceDocument]:
        """Read the references that have a summary, in their order.

        Raises:
            DataError: If the file has changed since it was checked.
        """
        for line in _rows(self.references):
            id = _id(line, self.fields.id)
            if id in self.summaries:
                document = None if self.fields.document is None else _text(line, self.fields.document)
                yield ReferenceDocument(id, _text(line, self.fields.text), document)


def join(predictions: Path, references: Path, *, skip_missing: bool = False) -> JoinedFiles:
    """Validate two JSON lines files (optionally .gz or .zst) and join them by ID.

    Args:
        predictions: File of rows with a summary.
        references: File of rows with a reference and optionally the document.
        skip_missing: Whether references without a summary are left out instead of raising an error.

    Raises:
        DataError: If a row is invalid, an ID occurs twice, or a reference has no summary.
    """
    prediction_fields, summaries = FieldNames(None, ""), dict[str, str]()
    for prediction_fields, line, id in _scan(predictions, _SUMMARIES):
        summaries[id] = _text(line, prediction_fields.text)
    reference_fields, names = FieldNames(None, ""), list[str]()
    for reference_fields, line, id in _scan(references, _REFERENCES, DOCUMENT_FIELDS):
        _text(line, reference_fields.text)
        if reference_fields.document:
            _text(line, reference_fields.document)
        names.append(id)
    missing = [name for name in names if name not in summaries]
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
    extra = sorted(summaries.keys() - set(names))
    if extra:
        notes.append(f"summaries without a reference, left out: {_examples(extra)}")
    return JoinedFiles(references, reference_fields, summaries, matched, notes)


def _scan(path: Path, texts: Sequence[str], documents: tuple[str, ...] = ()) -> Iterator[tuple[FieldNames, Line, str]]:
    """Yield the rows of a file, which has one at least, with the names of its fields and their IDs, which differ."""
    fields: FieldNames | None = None
    numbers: dict[str, str] = {}
    for line in _rows(path):
        if fields is None:
            text = guess_field(line.fields, tuple(texts))
            if text is None:
                rule = f"must have one of the fields {_listed(texts)}, got {_listed(list(line.fields))}"
                raise DataError(f"{line.where} {rule}")
            strings = {name: value for name, value in line.fields.items() if isinstance(value, str)}
            fields = FieldNames(guess_field(line.fields, ID_FIELDS), text, guess_field(strings, documents))
        id = _id(line, fields.id)
        if id in numbers:
            raise DataError(f"{line.where} must have a unique id, got {id!r} of line {numbers[id]} again")
        numbers[id] = line.where.rpartition(":")[2]
        yield fields, line, id
    if fields is None:
        raise DataError(f"{path} must have at least one row, got none")


def _rows(path: Path) -> Iterator[Line]:
    for line in read_lines(path):
        if isinstance(line, Reject):
            raise DataError(f"{line.where} {line.reason}")
        yield line


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


def _id(line: Line, field: str | None) -> str:
    """Return an ID field, which may be a whole number, or the number of the line."""
    if field is None:
        return line.where.rpartition(":")[2]
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
