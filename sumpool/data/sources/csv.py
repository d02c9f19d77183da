"""CSV and TSV: a header line with the names of the columns, then one document with its summary per row.

Cells are quoted as spreadsheets do it; files may be compressed (.gz, .zst).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from pydantic import Field

from sumpool.data.sources._base import Fields
from sumpool.data.sources._delimited import read_header, read_rows
from sumpool.data.sources._files import FieldsSourceConfig
from sumpool.documents.json_lines import Line, Reject
from sumpool.errors import DataError

SEPARATORS = ",;\t|"
"""Usual separators; of two that fit equally, the first is meant."""


@final
class CsvSourceConfig(FieldsSourceConfig):
    """Tables in text files, one for all splits or one per split; a field is a column."""

    kind: Literal["csv"] = "csv"
    delimiter: str = Field(",", pattern=r'^[^"\r\n]$')
    """Character between two cells: `;` in files of spreadsheets in many countries, a tab, written "\\t", in TSV."""
    quotes: bool = True
    """Whether cells may be in double quotes, in which separators and line breaks are text."""

    def fields_of(self, path: Path) -> Fields:
        """Return the column names of a file, guessing those that are not set.

        Raises:
            DataError: If the file cannot be read, or lacks a column.
        """
        header = read_header(path, self.delimiter, quotes=self.quotes)
        other = [mark for mark in SEPARATORS if len(header) == 1 and mark in header[0]]
        if other:
            raise DataError(
                f"{path} must have columns separated by {self.delimiter!r}, got one column {header[0]!r}; "
                f"set data.source.delimiter: {json.dumps(other[0])}"
            )
        return self.guess_columns(header, path) if header else self.guess((), path)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the rows of a file; the location of a row is its first line.

        Raises:
            DataError: If the file is missing or truncated, or its header cannot be read.
        """
        del fields
        return read_rows(path, self.delimiter, quotes=self.quotes)


def guess_delimiter(path: Path) -> str:
    """Return the usual delimiter that splits the header of a file into the most columns.

    Raises:
        DataError: If the file or its header cannot be read.
    """
    return max(SEPARATORS, key=lambda separator: len(read_header(path, separator)))
