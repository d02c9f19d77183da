"""Sources of rows with named fields (JSON lines, tables): choice of fields, and examples from rows."""

from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sumpool.data.sources._base import Example, Fields, Split, hash_split
from sumpool.data.sources._files import FilesSourceConfig, id_of
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


class FieldsSourceConfig(FilesSourceConfig, ABC):
    """Settings shared by sources of rows with named fields."""

    document: str | None = None
    """Field of the document; by default the first usual name (document, article, text, ...) in the file."""
    summary: str | None = None
    """Field of the summary; by default the first usual name (summary, abstract, highlights, ...) in the file."""
    id: str | None = None
    """Field of the id; by default the first usual name (id, article_id, ...) in the file, else `file:row`."""

    def notes(self) -> Iterator[str]:
        """Return a message per file with guessed field names.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in self.paths():
            fields = self.fields_of(path)
            if None in (self.document, self.summary, self.id):
                id_field = f"{fields.id!r} as id" if fields.id else "the location in the file as id"
                yield f"{path}: read {fields.document!r} as document, {fields.summary!r} as summary and {id_field}"

    def guess(self, names: Iterable[str], where: Path) -> Fields:
        """Complete the field names from the names in a file.

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

    def row(self, line: Line | Reject, fields: Fields, split: Split | None) -> Example | Reject:
        """Return the example of a row, or why it cannot be used."""
        if isinstance(line, Reject):
            return line
        try:
            name = id_of(line, fields.id)
            document, summary = (text_of(line.fields, field) for field in (fields.document, fields.summary))
        except ValueError as error:
            return Reject(line.where, str(error))
        return Example(name, document, summary, split or hash_split(name, self.validation_share, self.test_share))


def quote_names(names: Iterable[str]) -> str:
    """Quote and join at most twelve names."""
    return ", ".join(map(repr, list(names)[:12]))
