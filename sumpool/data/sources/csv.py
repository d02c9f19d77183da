"""CSV and TSV: a header line with the names of the columns, then one document with its summary per row.

Cells are quoted as spreadsheets do it, and separated by commas, semicolons, tabs or bars, as the header shows; files
may be compressed (.gz, .zst).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.data.sources._base import Fields
from sumpool.data.sources._delimited import read_header, read_rows
from sumpool.data.sources._files import FieldsSourceConfig
from sumpool.documents.json_lines import Line, Reject


@final
class CsvSourceConfig(FieldsSourceConfig):
    """Tables in text files, one for all splits or one per split; a field is a column."""

    kind: Literal["csv"] = "csv"
    quotes: bool = True
    """Whether cells may be in double quotes, in which separators and line breaks are text."""

    def fields_of(self, path: Path) -> Fields:
        """Return the column names of a file, guessing those that are not set.

        Raises:
            DataError: If the file cannot be read, or lacks a column.
        """
        header = read_header(path, quotes=self.quotes)
        return self.guess_columns(header, path) if header else self.guess((), path)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the rows of a file; the location of a row is its first line.

        Raises:
            DataError: If the file is missing or truncated, or its header cannot be read.
        """
        del fields
        return read_rows(path, quotes=self.quotes)
