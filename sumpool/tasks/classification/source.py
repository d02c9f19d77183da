"""Labelled documents for `task: classification`: JSON lines {"text": ..., "label": ...}, or tables with such columns.

All rows are in the file `path`, or each split has its file. Names that end in .csv, .tsv or .parquet are tables, the
first two with a header line; all other files are JSON lines. Texts and tables in text may be compressed (.gz, .zst). A
text may also be a list of whole numbers, such as the pixels of an image.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, final

from sumpool.data.sources._arrow import open_parquet, read_parquet
from sumpool.data.sources._base import Example, Fields, Split, hash_split
from sumpool.data.sources._delimited import read_header, read_rows
from sumpool.data.sources._files import FilesSourceConfig, id_of
from sumpool.documents.json_lines import DOCUMENT_FIELDS, ID_FIELDS, Line, Reject, guess_field, read_lines, text_of
from sumpool.errors import DataError

_PARQUET = ".parquet"
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
LABEL_FIELDS = ("label", "class", "category", "target", "topic", "rating")


@final
class LabelledSourceConfig(FilesSourceConfig):
    """Rows with a label, and one document or two."""

    kind: Literal["labelled"] = "labelled"
    text: str | None = None
    """Field of the document; by default the first usual name (document, article, text, ...) in the file."""
    second: str | None = None
    """Field of the second document, for classifiers of pairs."""
    label: str | None = None
    """Field of the label, a text, a whole number or a truth value; by default the first usual name (label, class, ...)
    in the file."""
    id: str | None = None
    """Field of the id; by default the first usual name (id, article_id, ...) in the file, else `file:row`."""

    def fields_of(self, path: Path) -> Fields:
        """Return the field names of a file, guessing those that are not set from the first valid line.

        Raises:
            DataError: If the file cannot be read, or the line lacks a usual name for document or label.
        """
        names = self._names(path)
        document = self.text or guess_field(names, DOCUMENT_FIELDS)
        label = self.label or guess_field(names, LABEL_FIELDS)
        if names and not (document and label):
            missing = "label" if document else "text"
            raise DataError(
                f"{path} must have a field that looks like a {missing}, got "
                f"{', '.join(map(repr, list(names)[:12]))}; set data.source.{missing} to its name"
            )
        return Fields(document or "text", label or "label", self.id or guess_field(names, ID_FIELDS))

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the lines of a file.

        Raises:
            DataError: If the file is missing or truncated.
        """
        if separator := _separator(path):
            return read_rows(path, separator, limits=self.limits)
        if path.suffix.lower() == _PARQUET:
            columns = {fields.document, fields.summary, fields.id, self.second}
            return read_parquet(path, [name for name in self._names(path) if name in columns], self.limits)
        return read_lines(path, self.limits)

    def _names(self, path: Path) -> Mapping[str, object]:
        """Columns of a table, or fields of the first valid line, by their names."""
        if separator := _separator(path):
            return dict.fromkeys(read_header(path, separator, limits=self.limits))
        if path.suffix.lower() == _PARQUET:
            return dict.fromkeys(open_parquet(path, self.limits).schema_arrow.names)
        return next((line.fields for line in read_lines(path, self.limits) if isinstance(line, Line)), {})

    def row(self, line: Line | Reject, fields: Fields, split: Split | None) -> Example | Reject:
        """Return the example of a row, or why it cannot be used."""
        if isinstance(line, Reject):
            return line
        try:
            name = id_of(line, fields.id)
            document, label = units_of(line.fields, fields.document), label_of(line.fields, fields.summary)
            second = units_of(line.fields, self.second) if self.second else ""
        except ValueError as error:
            return Reject(line.where, str(error))
        return Example(name, document, label, split or hash_split(name, self.validation_share, self.test_share), second)

    def notes(self) -> Iterator[str]:
        """Return a message per file with guessed field names.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in self.paths():
            fields = self.fields_of(path)
            if None in (self.text, self.label, self.id):
                id_field = f"{fields.id!r} as id" if fields.id else "the location in the file as id"
                yield f"{path}: read {fields.document!r} as document, {fields.summary!r} as label and {id_field}"


def _separator(path: Path) -> str | None:
    """Return the character between the cells of a table in text; None for other files."""
    is_compressed = path.suffix.lower() in (".gz", ".zst")
    return _SEPARATORS.get((path.with_suffix("") if is_compressed else path).suffix.lower())


def units_of(fields: Mapping[str, object], name: str) -> str:
    """Return the text in a field, or its whole numbers as a text.

    Raises:
        ValueError: If the field is missing, empty or of another type; the message lacks the location.
    """
    value = fields.get(name)
    if isinstance(value, list) and value and all(type(unit) is int for unit in value):
        return " ".join(map(str, value))
    return text_of(fields, name)


def label_of(fields: Mapping[str, object], name: str) -> str:
    """Return the label in a field as a text in one line.

    Raises:
        ValueError: If the field is missing, empty or of another type; the message lacks the location.
    """
    value = fields.get(name)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else " ".join(text_of(fields, name).split())
