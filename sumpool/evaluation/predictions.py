"""Summaries and references from two files, joined by id.

Both files are read to the end before anything is scored, so that whatever is wrong in them is said at once. After
that the references are read again in their order, and each summary is fetched from its place in its file: of a
document only the id and a number stay in memory.
"""

import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from sumpool.documents.files import COMPRESSIONS
from sumpool.documents.json_lines import DOCUMENT_FIELDS, ID_FIELDS, SUMMARY_FIELDS, guess_field
from sumpool.errors import DataError
from sumpool.evaluation.rows import InputRow, opened, read_row, read_rows
from sumpool.evaluation.scorer import Candidate

_SUMMARIES = ("summary", "prediction", "predicted", "hypothesis", "generated", "output")
_REFERENCES = ("reference", *SUMMARY_FIELDS)


@dataclass(frozen=True)
class FieldNames:
    """Which field of a file holds what, found in its first row.

    Attributes:
        id: The document's name; None joins by line.
        text: The summary or the reference.
        document: The document; None where the file has none.
    """

    id: str | None
    text: str
    document: str | None = None

    def name(self, row: InputRow) -> str:
        """The id of a row, or its line number."""
        return str(row.number) if self.id is None else row.name(self.id)

    def __str__(self) -> str:
        joined = "joined by line" if self.id is None else f"id in {self.id!r}"
        document = f", document in {self.document!r}" if self.document else ""
        return f"text in {self.text!r}, {joined}{document}"


@dataclass
class Joined:
    """Two files that fit together.

    Attributes:
        references: The file that is read in order.
        reference_fields: Its fields.
        predictions: The other one.
        prediction_fields: Its fields.
        places: Of each summary, its line and the byte that it begins at.
        documents: References that have a summary.
        notes: What was guessed and what was left out.
    """

    references: Path
    reference_fields: FieldNames
    predictions: Path
    prediction_fields: FieldNames
    places: dict[str, tuple[int, int]]
    documents: int = 0
    notes: list[str] = field(default_factory=list)

    def candidates(self, done: Set[str] = frozenset()) -> Iterator[Candidate]:
        """Read references with their summaries, in the order of the references.

        Args:
            done: Ids to leave out.

        Raises:
            DataError: If a file changed since it was checked.
        """
        fields = self.reference_fields
        with opened(self.references) as references, _seekable(self.predictions) as predictions:
            for row in read_rows(references, self.references):
                id = fields.name(row)
                if id in done or id not in self.places:
                    continue
                number, offset = self.places[id]
                predictions.seek(offset)
                summary = read_row(predictions.readline(), self.predictions, number, offset)
                yield Candidate(
                    id=id,
                    summary=summary.text(self.prediction_fields.text),
                    reference=row.text(fields.text),
                    document=None if fields.document is None else row.text(fields.document),
                )


def join(predictions: Path, references: Path, *, skip_missing: bool = False) -> Joined:
    """Check two JSON lines files (.gz and .zst too) and join them by id.

    Args:
        predictions: Rows with a summary.
        references: Rows with a reference and perhaps the document.
        skip_missing: Whether references without a summary are left out instead of an error.

    Raises:
        DataError: If a row cannot be used, an id comes twice, or a reference has no summary.
    """
    prediction_fields, places = _read_predictions(predictions)
    reference_fields, missing, matched = _read_references(references, places)
    if (prediction_fields.id is None) != (reference_fields.id is None):
        raise DataError(
            f"{predictions} and {references} must both have ids, or neither, got {prediction_fields} and "
            f"{reference_fields}"
        )
    if not matched or (missing and not skip_missing):
        raise DataError(
            f"{predictions} must have a summary for every reference of {references}, got none for "
            f"{_some(missing)}; add them, or skip the missing ones"
        )
    notes = [f"{predictions.name}: {prediction_fields}", f"{references.name}: {reference_fields}"]
    if missing:
        notes.append(f"references without a summary, left out: {_some(missing)}")
    extra = sorted(places.keys() - matched) if len(places) > len(matched) else []
    if extra:
        notes.append(f"summaries without a reference, left out: {_some(extra)}")
    return Joined(references, reference_fields, predictions, prediction_fields, places, len(matched), notes)


def _read_predictions(path: Path) -> tuple[FieldNames, dict[str, tuple[int, int]]]:
    fields: FieldNames | None = None
    places: dict[str, tuple[int, int]] = {}
    with opened(path) as file:
        for row in read_rows(file, path):
            fields = fields or FieldNames(guess_field(row.fields, ID_FIELDS), row.guess(_SUMMARIES))
            name = fields.name(row)
            if name in places:
                raise DataError(f"{row.where} must have an id of its own, got {name!r} of line {places[name][0]} again")
            row.text(fields.text)
            places[name] = row.number, row.offset
    return _some_rows(fields, path), places


def _read_references(path: Path, places: dict[str, tuple[int, int]]) -> tuple[FieldNames, list[str], set[str]]:
    fields: FieldNames | None = None
    matched: set[str] = set()
    missing: dict[str, None] = {}
    with opened(path) as file:
        for row in read_rows(file, path):
            fields = fields or _reference_fields(row)
            name = fields.name(row)
            if name in matched or name in missing:
                raise DataError(f"{row.where} must have an id of its own, got {name!r} a second time")
            for required in filter(None, (fields.text, fields.document)):
                row.text(required)
            if name in places:
                matched.add(name)
            else:
                missing[name] = None
    return _some_rows(fields, path), list(missing), matched


def _reference_fields(row: InputRow) -> FieldNames:
    texts = {name: value for name, value in row.fields.items() if isinstance(value, str)}
    return FieldNames(guess_field(row.fields, ID_FIELDS), row.guess(_REFERENCES), guess_field(texts, DOCUMENT_FIELDS))


def _some_rows(fields: FieldNames | None, path: Path) -> FieldNames:
    if fields is None:
        raise DataError(f"{path} must have at least one row, got none")
    return fields


@contextmanager
def _seekable(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading anywhere; a compressed one is unpacked into a temporary file first."""
    with opened(path) as file:
        if path.suffix not in COMPRESSIONS:
            yield file
            return
        with TemporaryFile() as unpacked:
            shutil.copyfileobj(file, unpacked)
            yield unpacked


def _some(names: list[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:5])
    return f"{len(names):,} ({shown}{', ...' if len(names) > 5 else ''})"
